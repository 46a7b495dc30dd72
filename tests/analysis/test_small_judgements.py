"""Small judgements about schedules, scales, hot spots and gradients on their way back, at their limits."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_trainhealth.analysis import data_scale, gradient_flow, hotspots, misalignment, schedules
from pytest_trainhealth.records.data import Alignment, ScaleRecord
from pytest_trainhealth.records.judgement import NeedsControl
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.numbers import Crash
from pytest_trainhealth.records.speed import CallRecord, LineRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord, SchedulerRecord

# -- ReduceLROnPlateau(mode="max") --------------------------------------------------------------------------------


def waits(fed: list[float], mode: str = "max", losses: list[float] | None = None, before: float = math.inf) -> bool:
    """Fed at every fifth step, at which the loss is what it is fed."""
    made = Trace.of(losses or [value for value in fed for _ in range(5)])
    steps = [5 * number + 4 for number in range(len(fed))]
    made.wiring.schedulers = [SchedulerRecord("ReduceLROnPlateau", "SGD", mode=mode, fed=fed, steps=steps)]
    return schedules.waits_the_wrong_way(made, before) is not None


def test_a_scheduler_that_waits_for_a_rise_is_given_a_loss_that_falls() -> None:
    assert waits([3.0, 2.0, 1.0])
    assert not waits([3.0, 2.0, 1.0], mode="min")
    assert not waits([3.0, 2.0])
    assert not waits([1.0, 2.0, 3.0])
    assert waits([1.0, 1.0, 0.979, 0.979])
    assert not waits([1.0, 1.0, 0.981, 0.981])
    assert not waits([1.0, -1.0, -2.0]), "a score may be below 0"
    assert waits([3.0, 2.0, 1.0], before=15)
    assert not waits([3.0, 2.0, 1.0], before=14)


def test_what_it_is_given_is_the_last_loss_or_the_mean_of_several() -> None:
    assert waits([3.0, 2.0, 1.0], losses=[9.0, 9.0, 9.0, 9.0, 3.0, 9.0, 9.0, 9.0, 9.0, 2.0, 9.0, 9.0, 9.0, 9.0, 1.0])
    assert waits([3.0, 2.0, 1.0], losses=[5.0, 1.0, 3.0, 4.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 0.0, 2.0, 0.0])
    assert not waits([3.0, 2.0, 1.0], losses=[3.0] * 5 + [2.0] * 5 + [0.9] * 5)
    assert waits([3.0, 2.0, 1.0], losses=[3.0] * 5 + [2.0] * 5 + [0.981] * 5)
    assert waits([3.0, 2.0, 1.0], losses=[3.0] * 5 + [2.0] * 5), "what was not recorded contradicts nothing"


@pytest.mark.parametrize(("calls", "steps", "every"), [(9, 10, True), (8, 10, False)])
def test_at_every_update(calls: int, steps: int, every: bool) -> None:
    record = OptimizerRecord("SGD", "SGD", steps=steps)
    assert schedules.at_every_update(SchedulerRecord("StepLR", "SGD", calls=calls), record) is every


# -- the scale of the data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "off"),
    [
        ({}, False),
        ({"mean": 5.1}, True),
        ({"mean": 4.9}, False),
        ({"std": 5.1}, True),
        ({"std": 4.9}, False),
        ({"largest": 51.0}, True),
        ({"largest": 49.0}, False),
        ({"target": True, "mean": 59.0, "std": 9.0, "largest": 99.0}, False),
        ({"target": True, "mean": 61.0}, True),
        ({"target": True, "std": 11.0}, True),
    ],
)
def test_data_that_weights_are_not_made_for(facts: dict[str, Any], off: bool) -> None:
    made = Trace.of([1.0])
    made.data.scales = [
        ScaleRecord(**{"name": "x", "shape": (8, 2), "mean": 0.0, "std": 1.0, "low": 0.0, "high": 1.0, **facts})
    ]
    assert data_scale.data_off_scale(made) is off
    assert bool(data_scale.inputs_off_scale(made)) is (off and not facts.get("target", False))
    assert bool(data_scale.targets_off_scale(made)) is (off and facts.get("target", False))


# -- what takes the time ------------------------------------------------------------------------------------------

HERE, THERE = Place("model.py", 3), Place("model.py", 9)


def slow(
    call: tuple[str, float, Place | None] | None = None,
    loop: tuple[float, int] | None = None,
    line: float = 0.0,
    modules: int = 0,
) -> str:
    made = Trace.of([1.0])
    if call is not None:
        made.speed.calls = [CallRecord(call[0], 3, 0.1, call[1], call[2], torch=True)]
    if loop is not None:
        made.speed.loop = LineRecord(loop[1], 0.1, loop[0], HERE)
    made.speed.line = LineRecord(1, 0.1, line, HERE, modules)
    found = hotspots.hotspot(made)
    return "" if found is None else f"{found.text}, {found.evidence}, {found.of}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"call": ("sort", 0.4, HERE)}, "sort(), sort() is called 3 times, a step"),
        ({"call": ("sort", 0.39, HERE)}, ""),
        ({"call": ("sort", 0.9, None)}, ""),
        ({"call": ("run_backward", 0.9, HERE)}, ""),
        ({"loop": (0.6, 8)}, "a loop of 8 rounds, the lines of the loop, 8 rounds in a step, the forward pass"),
        (
            {"loop": (0.6, 1200)},
            "a loop of 1,200 rounds, the lines of the loop, 1,200 rounds in a step, the forward pass",
        ),
        ({"loop": (0.59, 8)}, ""),
        ({"loop": (0.6, 7)}, ""),
        ({"line": 0.6}, "one line, the line is run once in a step, the forward pass"),
        ({"line": 0.59}, ""),
        ({"line": 0.6, "modules": 1}, ""),
        ({"call": ("sort", 0.4, HERE), "loop": (0.9, 9), "line": 0.9}, "sort(), sort() is called 3 times, a step"),
    ],
)
def test_what_stands_out_in_a_slow_step(given: dict[str, Any], said: str) -> None:
    assert slow(**given) == said


@pytest.mark.parametrize(
    ("calls", "one"),
    [
        ([(1, 0.6, HERE), (9, 0.4, HERE)], True),
        ([(2, 0.6, HERE), (9, 0.4, HERE)], True),
        ([(3, 0.6, HERE), (9, 0.4, HERE)], False),
        ([(1, 0.59, HERE), (9, 0.41, HERE)], False),
        ([(9, 0.4, HERE), (1, 0.6, HERE)], True),
        ([(9, 0.9, THERE), (1, 0.6, HERE)], True),
        ([(1, 0.9, THERE)], False),
    ],
)
def test_a_line_that_calls_modules_is_one_operation_where_one_function_takes_most(
    calls: list[tuple[int, float, Place]], one: bool
) -> None:
    made = Trace.of([1.0])
    made.speed.line = LineRecord(1, 0.1, 0.9, HERE, modules=3)
    made.speed.calls = [CallRecord("f", count, seconds, 0.1, place) for count, seconds, place in calls]
    assert (hotspots.hotspot(made) is not None) is one


def test_operators_are_listed_with_their_shares() -> None:
    assert hotspots.describe_operators([("aten::mm", 0.4), ("aten::add", 0.12)]) == "aten::mm 40 %, aten::add 12 %"


# -- gradients on their way back ----------------------------------------------------------------------------------


def weights(*gradients: dict[int, float | None]) -> Trace:
    return Trace.of([1.0], [ParameterRecord(f"{n}.weight", (2, 2), 4, gradients=g) for n, g in enumerate(gradients)])


def test_shares_of_the_strongest_gradient_are_of_the_same_step() -> None:
    assert gradient_flow.reached(weights({0: 1.0, 8: 1.0}, {0: 4.0, 8: 400.0})) == {"0.weight": 0.25, "1.weight": 1.0}
    assert gradient_flow.reached(weights({0: 1.0, 16: 9.0}, {0: 4.0, 16: 9.0}))["0.weight"] == 0.25, "early looks only"
    assert gradient_flow.reached(weights({0: 1.0}, {0: math.inf})) == {"0.weight": 1.0, "1.weight": 1.0}
    assert gradient_flow.reached(weights({0: 0.0, 1: 1.0}, {0: 0.0, 1: 2.0}))["0.weight"] == 0.5


def names(made: Trace, share: float) -> list[str]:
    return [p.name for p in gradient_flow.faint_first(made, share)]


def test_the_first_weights_are_faint_as_long_as_each_one_is() -> None:
    made = weights({0: 0.01}, {0: 0.01}, {0: 1.0}, {0: 0.01})
    assert names(made, 0.011) == ["0.weight", "1.weight"]
    assert names(made, 0.009) == []
    assert names(weights({0: None}, {0: 1.0}), 0.5) == []


def test_where_all_is_faint_at_first_the_whole_run_counts_unless_it_exploded() -> None:
    faded = weights({0: 1e-9, 32: 1e-9}, {0: 1e-9, 32: 1.0})
    assert names(faded, 0.1) == [], "a hundred times the first look is an explosion"
    faded.wiring.parameters["b"] = ParameterRecord("b", (2,), 4, gradients={0: 1.0})
    assert names(faded, 0.1) == ["0.weight"]
    faded.wiring.parameters["b"].gradients = {0: 0.009}
    assert names(faded, 0.1) == []
    assert names(weights({0: 1.0}, {0: 1.0, 1: math.inf}), 0.1) == []


# -- targets that belong to other samples -------------------------------------------------------------------------


def unseen(*losses: float) -> Trace:
    """Three batches that are learnt from, then one that is not."""
    made = Trace.of([value for loss in losses for value in (1.0, 1.0, 1.0, loss)])
    made.applied.held_out = list(range(3, len(made.losses), 4))
    return made


def guessed(at_chance: bool = True, used: float = 0.1, structured: bool = True, chance: float = 2.0) -> Trace:
    made = Trace.of([2.0] * 8)
    made.loss.calls = [LossCall("cross_entropy", weight=1.0, sole=True, given_target=True, floor=0.0, chance=chance)]
    made.data.alignment = Alignment(256, "classes", 0.1, used, 0.1, at_chance=at_chance, structured=structured)
    return made


def over(control: Trace, **facts: Any) -> bool:
    """Whether it is said that nothing carries over; what falls by heart is asked the same question."""
    made, controls = guessed(**facts), {misalignment.HELD_OUT.label: control}
    found = misalignment.carries_nothing_over(made, controls)
    assert found is None or isinstance(found, Symptom)
    if facts.get("structured", True):
        assert bool(misalignment.may_be_learnt_by_heart(made, controls)) is (found is not None)
    return found is not None


def test_nothing_carries_over_to_batches_that_were_not_learnt_from() -> None:
    assert over(unseen(*[1.91] * 6))
    assert not over(unseen(*[1.89] * 6))
    assert not over(unseen(*[1.91] * 5)), "too few to tell"
    assert not over(unseen(*[2.0] * 5, 1.8)), "the best epoch counts"
    assert not over(unseen(*[2.0] * 6), at_chance=False)
    assert not over(unseen(*[2.0] * 6), structured=False)
    assert not over(unseen(*[2.0] * 6), chance=0.0)
    broken = unseen(*[2.0] * 6)
    broken.crash = Crash("ValueError", "", 3)
    assert not over(broken)
    assert not over(unseen(*[2.0] * 6, math.nan))


def test_a_probe_that_is_right_by_luck_leaves_it_to_the_own_recipe() -> None:
    made, plain = guessed(used=0.11), {misalignment.HELD_OUT.label: unseen(*[2.0] * 6)}
    assert misalignment.carries_nothing_over(made, plain) == NeedsControl(misalignment.OWN_HELD_OUT, once=True)

    def own(seen: float, others: float) -> bool:
        control = Trace.of([value for _ in range(6) for value in (seen, seen, seen, others)])
        control.applied.held_out = list(range(3, 24, 4))
        found = misalignment.carries_nothing_over(made, {**plain, misalignment.OWN_HELD_OUT.label: control})
        assert found is None or isinstance(found, Symptom)
        return found is not None

    assert own(1.4, 2.01)
    assert not own(1.6, 2.01), "it has not learnt what it sees"
    assert not own(1.4, 1.99), "better than a guess on the others"
    assert misalignment.carries_nothing_over(made, {misalignment.HELD_OUT.label: unseen(*[1.5] * 6)}) is None


@pytest.mark.parametrize(("easy", "said"), [(1.58, False), (1.62, True)])
def test_an_epoch_is_judged_by_the_mean_of_its_batches(easy: float, said: bool) -> None:
    """Of two batches that were not learnt from, one is easy."""
    made = Trace.of([1.0, 2.2, easy] * 6)
    made.applied.held_out = [step for step in range(18) if step % 3]
    assert over(made) is said


def test_the_control_is_asked_for_once() -> None:
    asked = NeedsControl(misalignment.HELD_OUT, once=True)
    assert misalignment.carries_nothing_over(guessed(), {}) == asked
    assert misalignment.may_be_learnt_by_heart(guessed(), {}) == asked
    assert misalignment.carries_nothing_over(Trace.of([1.0]), {}) is None
    assert misalignment.may_be_learnt_by_heart(guessed(used=0.2), {}) == ""
    assert misalignment.may_be_learnt_by_heart(guessed(used=0.2), {}, but_for_a_hint=True) == asked
    assert misalignment.may_be_learnt_by_heart(guessed(at_chance=False), {}, but_for_a_hint=True) == ""


def test_an_order_that_fits_better_is_told_with_both_shares() -> None:
    made = Trace.of([1.0])
    made.data.alignment = Alignment(256, "classes", 0.1, -0.09, 0.97, "the sample before it")
    symptom = misalignment.not_aligned(made)
    assert symptom is not None
    assert symptom.summary.startswith("0 % of 256 targets can be predicted")
    assert symptom.summary.endswith("97 % when each input gets the target of the sample before it")
    made.data.alignment = Alignment(256, "values", 0.1, 0.2, 0.97, "the sample before it")
    symptom = misalignment.not_aligned(made)
    assert symptom is not None
    assert symptom.summary.startswith("20 % of the targets' variance")
    made.data.alignment = Alignment(256, "values", 0.1, 0.2, 0.97)
    assert misalignment.not_aligned(made) is None
