"""A cure that standardises targets gives the loss another unit: how far it came counts, not where it is."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis.far_better import far_better
from pytest_trainhealth.records.trace import Trace


@pytest.mark.parametrize(
    ("last", "rescaled", "better"), [(0.768, False, True), (0.768, True, False), (0.1, True, True)]
)
def test_another_unit(last: float, rescaled: bool, better: bool) -> None:
    """Targets with a spread of 16 that have nothing to do with the inputs: nothing is learnt of them in either unit."""
    uncured, cured = Trace.of([12.3, *[11.6] * 79]), Trace.of([0.811, *[last] * 79])
    cured.applied.rescaled_targets = rescaled
    assert far_better(cured, uncured) is better
