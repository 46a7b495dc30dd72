"""Which runs are worth going on with: an operation that closes in on the end of its domain, and no other."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis.approaching import closing_in, still_closing_in
from pytest_trainhealth.records.numbers import NearDanger
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place


def coming(gaps: dict[int, float], *, evenly: bool = False) -> Trace:
    trace = Trace.of([1.0] * 50)
    trace.numbers.near_dangers["acos train.py:3"] = NearDanger("acos", Place("train.py", 3), gaps, evenly)
    return trace


@pytest.mark.parametrize(
    ("gaps", "said"),
    [
        ({2: 0.01, 8: 0.002, 32: 1e-5}, True),  # a cosine that is fitted
        ({2: 0.0, 8: 0.0, 32: 0.0}, True),  # at the end already, and finite by luck
        ({2: 1e-6, 8: 1e-6, 32: 1e-6}, False),  # clamped
        ({2: 0.4, 8: 0.44, 32: 0.38}, False),
        ({2: 1e-9}, False),  # a single look shows no way
    ],
)
def test_by_its_ratio(gaps: dict[int, float], said: bool) -> None:
    assert bool(closing_in(coming(gaps), 400)) is said


@pytest.mark.parametrize(("last", "said"), [(79.0, True), (87.5, False), (95.0, False)])
def test_an_exponent_by_its_pace(last: float, said: bool) -> None:
    assert bool(closing_in(coming({2: 88.0, 32: last}, evenly=True), 400)) is said


def test_a_run_that_goes_on_ends_where_nothing_comes_closer() -> None:
    assert still_closing_in(coming({2: 0.01, 32: 1e-4, 128: 1e-6}), 400)
    assert not still_closing_in(coming({2: 0.01, 32: 1e-6, 128: 1e-6}), 400)
