"""What a symptom says where a number decides on the words: too large or too small, all or some, compared or not."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis.comparison import comparison_figures, judge_comparison
from pytest_trainhealth.analysis.silent_faults import silently_wrong
from pytest_trainhealth.records.comparison import Comparison
from pytest_trainhealth.records.judgement import Passed
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, UnusedPasses, WronglyScaled


@pytest.mark.parametrize(("factor", "said"), [(1024.0, "1,020 times too large"), (1 / 8, "8 times too small")])
def test_a_factor_that_a_scaler_has_left_is_told_with_its_direction(factor: float, said: str) -> None:
    trace = Trace.of([1.0] * 4)
    trace.wiring.wrongly_scaled = [WronglyScaled(step, "SGD", factor, 1.0) for step in (0, 1)]
    symptom = silently_wrong(trace)
    assert symptom is not None
    assert (
        symptom.summary
        == f"SGD steps with gradients that are {said}, because of a loss scaler, at 2 updates (expected 0)"
    )
    assert (symptom.measured, symptom.limit) == (factor, 1.0)


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (1, "3 of 4 backward passes before each update of SGD are cleared (expected 0)"),
        (0, "SGD steps without a gradient: zero_grad() has cleared them (expected 0)"),
    ],
)
def test_passes_that_are_cleared_are_some_or_all(used: int, said: str) -> None:
    trace = Trace.of([1.0] * 4)
    trace.wiring.unused_passes["SGD"] = UnusedPasses("SGD", [0, 3, 3], [1, used, used])
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=4)
    symptom = silently_wrong(trace)
    assert symptom is not None
    assert (symptom.summary, symptom.measured) == (said, 3.0)


def test_a_comparison_has_figures_where_something_was_compared() -> None:
    assert comparison_figures(None) == {}
    assert comparison_figures(Comparison("main", "could not compare", reason="no such revision")) == {}
    found = comparison_figures(Comparison("main", "slower", ratio=1.3, low=1.2, high=1.4, pairs=9))
    assert found == {"against_ratio": 1.3, "against_low": 1.2, "against_high": 1.4, "against_pairs": 9.0}


def test_slower_than_another_revision_is_told_with_the_limit() -> None:
    slower = Comparison("main", "slower", ratio=1.3, low=1.2, high=1.4, pairs=9, current=0.013, other=0.01)
    symptom = judge_comparison(slower, Passed())
    assert isinstance(symptom, Symptom)
    assert symptom.limit == pytest.approx(1.1)
    assert symptom.summary == (
        "1.30 x the time of main [1.20, 1.40], at most 1.10 x allowed (13 ms a step, 10 ms at main)"
    )
