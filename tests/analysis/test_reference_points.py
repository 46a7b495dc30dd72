"""Floor, chance and reach, from made-up calls of loss functions."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis.reference_points import REFERENCES, above_reach, missing_reference, points, reach
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place


def trace_of(*calls: LossCall, first: float = 1.4) -> Trace:
    trace = Trace.of([first, first, first])
    trace.loss.calls = list(calls)
    return trace


def cross_entropy(value: float = 1.4, weight: float = 1.0, step: int = 0, floor: float = 0.0) -> LossCall:
    return LossCall(
        "cross_entropy", step=step, weight=weight, part=weight * value, value=value, sole=True, floor=floor, chance=1.3
    )


def test_floor_and_chance_of_one_loss() -> None:
    found = points(trace_of(cross_entropy(floor=0.2), cross_entropy(step=1, floor=0.4)))
    assert found.floor == pytest.approx(0.3)
    assert found.chance == pytest.approx(1.3)
    assert found.start(first=6.9) == pytest.approx(1.3)
    assert found.start(first=0.5) == pytest.approx(0.5)


def test_a_loss_that_is_divided_before_backward_and_returned_whole() -> None:
    """Accumulation over 16 calls: backward() sees a sixteenth."""
    found = points(trace_of(cross_entropy(weight=1 / 16), cross_entropy(weight=1 / 16, step=1)))
    assert found.chance == pytest.approx(1.3)


def test_the_mean_over_several_backward_passes_of_a_step() -> None:
    found = points(trace_of(*(cross_entropy() for _ in range(6)), first=1.4))
    assert found.chance == pytest.approx(1.3)


def test_terms_that_do_not_add_up_leave_the_points_unknown_unless_the_rest_is_a_penalty() -> None:
    call = LossCall("cross_entropy", weight=1.0, part=1.4, floor=0.0, chance=1.3)
    trace = trace_of(call, first=5.8)
    assert points(trace).chance is None
    trace.numbers.penalties.append(Place("train.py", 9))
    assert points(trace).chance == pytest.approx(1.3)


def test_one_sample_has_no_chance() -> None:
    trace = trace_of(cross_entropy())
    trace.batch_size = 1
    assert points(trace).chance is None


def test_the_better_plain_run_counts_and_no_more_are_made_than_needed() -> None:
    first, second = REFERENCES
    controls = {first.label: Trace.of([1.4, *[0.5] * 20])}
    assert missing_reference(controls, good_enough=0.6) is None
    assert missing_reference(controls, good_enough=0.1) == second
    controls[second.label] = Trace.of([1.4, *[0.2] * 20])
    found = reach(controls)
    assert found is not None
    assert found.level == pytest.approx(0.2)
    assert above_reach(found, 0.8, 1.4) == pytest.approx(0.5)


def test_a_plain_run_that_broke_down_reaches_nothing() -> None:
    assert reach({REFERENCES[0].label: Trace.of([1.4, float("nan")])}) is None
