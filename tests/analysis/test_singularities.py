"""An operation at the end of its own domain, as opposed to one that got values which had already grown."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis.singularities import at_its_own_singularity
from pytest_trainhealth.records.numbers import FirstBadOperation, Range


def made(operation: str, low: float, high: float, zeros: float = 0.0, **facts: object) -> FirstBadOperation:
    given = (Range(low, high, 1e-3, zeros, "float32", (16, 4)),)
    phase = "backward" if "Backward" in operation else "forward"
    facts = {"phase": phase, "value": "nan", "inputs": given, "step": 3, **facts}
    return FirstBadOperation(operation, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "culprit",
    [
        made("log", 0.0, 1.0, zeros=0.1),
        made("log", -0.2, 1.0),
        made("div", 0.0, 3.0, zeros=0.5),
        made("SqrtBackward0", 0.0, 1.2, zeros=0.1),
        made("AcosBackward0", 0.0, 1.0, zeros=0.1),
        made("LinalgVectorNormBackward0", 0.0, 1.0, zeros=0.1),
        made("acos", -0.5, 1.0000001),
    ],
    ids=lambda culprit: culprit.operation,
)
def test_finite_and_moderate_values_at_the_end_of_a_domain(culprit: FirstBadOperation) -> None:
    assert at_its_own_singularity(culprit)


@pytest.mark.parametrize(
    "culprit",
    [
        None,
        made("exp", 0.0, 400.0),
        made("mul", 0.0, 1e30),
        made("div", 0.0, 1e20, zeros=0.5),
        made("log", 0.0, 1.0, zeros=0.1, from_finite=False),
        made("div", 0.0, 1.0, zeros=0.1, phase="update"),
    ],
)
def test_values_that_had_grown_or_were_bad_before(culprit: FirstBadOperation | None) -> None:
    assert not at_its_own_singularity(culprit)
