"""When a watched loop that lags behind was merely short."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_trainhealth.analysis.short_runs import still_learnt
from pytest_trainhealth.checks import learns_from_data
from pytest_trainhealth.records.judgement import FailIfConfirmed, NeedsControl
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord


def falling(last: float, steps: int, watched: bool = True) -> Trace:
    """A cross-entropy of ten classes that falls in a straight line."""
    trace = replace(Trace.of([2.3 - (2.3 - last) * step / (steps - 1) for step in range(steps)]), watched=watched)
    call = LossCall("cross_entropy", weight=1.0, sole=True, given_target=True, floor=0.0, chance=2.3)
    trace.loss.calls = [call, replace(call, step=1)]
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=steps)
    return trace


@pytest.mark.parametrize(
    ("trace", "early"),
    [
        (falling(1.9, 80), True),
        (falling(1.9, 160), False),
        (falling(1.9, 80, watched=False), False),
        (falling(2.25, 80), False),  # that is no learning yet
    ],
)
def test_it_had_learnt_something_and_still_learnt(trace: Trace, early: bool) -> None:
    assert still_learnt(trace, 160) is early


@pytest.mark.parametrize(("watched", "outcome"), [(True, FailIfConfirmed), (False, Symptom)])
def test_a_watched_loop_of_as_many_steps_as_the_check_takes_is_not_accused(watched: bool, outcome: type) -> None:
    """What is handed in gets twice as many while its loss falls; one or two epochs of an example are short."""
    trace, controls = falling(2.1, learns_from_data.STEPS, watched=watched), dict[str, Trace]()
    while isinstance(judged := learns_from_data.judge(trace, {}, controls), NeedsControl):
        controls[judged.control.label] = falling(0.001, learns_from_data.STEPS)
    assert isinstance(judged, outcome)
