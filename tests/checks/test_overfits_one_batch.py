"""Judgement on made-up traces: microseconds, one reason to fail each."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_trainhealth.analysis.reference_points import REFERENCES
from pytest_trainhealth.analysis.without_a_floor import UNTRAINED, ZEROED_INPUTS
from pytest_trainhealth.checks.overfits_one_batch import judge as judge_beside
from pytest_trainhealth.checks.overfits_one_batch import stop_when
from pytest_trainhealth.records.judgement import (
    UNTREATED,
    CouldNotJudge,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    Passed,
)
from pytest_trainhealth.records.losses import LossCall, TensorSummary
from pytest_trainhealth.records.numbers import NonFinite
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord


def judge(
    trace: Trace, settings: dict[str, float], zeroed: Trace | None = None, plain: Trace | None = None
) -> Judgement:
    """Beside a run without learning whose loss stays where it is, and a plain recipe that gets no further."""
    controls = {UNTRAINED.label: Trace.of([trace.losses[0]] * len(trace.losses))}
    controls |= {reference.label: plain or trace for reference in REFERENCES}
    if zeroed is not None:
        controls[ZEROED_INPUTS.label] = zeroed
    return judge_beside(trace, settings, controls)


def falling(start: float, floor: float, steps: int, rate: float = 0.03) -> list[float]:
    return [floor + (start - floor) * math.exp(-rate * step) for step in range(steps)]


def test_a_loss_below_a_tenth_passes() -> None:
    assert isinstance(judge(Trace.of(falling(2.3, 0.0, 200)), {}), Passed)


def guessed(losses: list[float], chance: float) -> Trace:
    """On targets whose best constant answer has that loss."""
    trace = Trace.of(losses)
    call = LossCall("cross_entropy", value=losses[0], weight=1.0, floor=0.0, chance=chance, classes=28)
    trace.loss.calls = [replace(call, sole=True, complete=True, given_target=True)]
    return trace


def test_three_steps_of_a_watched_test_say_nothing() -> None:
    """They start above a guess, and a plain recipe gets no lower in the time."""
    trace = guessed([3.33, 3.31, 3.296], chance=2.6)
    trace.watched = True
    verdict = judge(trace, {})
    assert isinstance(verdict, CouldNotJudge)
    assert verdict.reason == "3 steps: too few to see it memorise; let the test train longer"


def test_a_short_run_that_still_falls_towards_a_guess_is_no_failure() -> None:
    losses = [3.33 - 0.01 * step for step in range(40)]
    verdict = judge(guessed(losses, chance=2.6), {"steps": 40})
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)
    assert verdict.otherwise.reason == "40 steps: too few to see it memorise; give more steps="


def test_it_stops_as_soon_as_the_promise_is_kept() -> None:
    losses = falling(2.3, 0.0, 200)
    first = next(n for n in range(4, 200) if stop_when(Trace.of(losses[:n]), {}))
    assert losses[first - 1] < 0.23
    assert first < 90


def test_a_flat_loss_is_a_symptom_with_value_and_limit() -> None:
    symptom = judge(Trace.of([2.303] * 200), {})
    assert isinstance(symptom, Symptom)
    assert symptom.measured == pytest.approx(2.303)
    assert symptom.limit == pytest.approx(0.2303)
    assert symptom.category == "not-learning"
    assert symptom.summary == "loss 2.303 -> 2.303 in 200 steps on one batch of 16 samples (has to fall below 0.230)"


def test_a_flat_loss_gets_no_extra_time_and_a_falling_one_does() -> None:
    assert stop_when(Trace.of([2.303] * 200), {})
    assert not stop_when(Trace.of(falling(2.3, 0.0, 200, rate=0.005)), {})
    assert stop_when(Trace.of(falling(2.3, 0.0, 400, rate=0.001)), {})


def test_one_lucky_step_is_not_enough() -> None:
    assert not stop_when(Trace.of([2.3] * 50 + [0.01]), {})


def test_the_ratio_is_the_users_to_set() -> None:
    assert isinstance(judge(Trace.of(falling(2.3, 1.0, 200)), {"ratio": 0.6}), Passed)


def test_a_floor_is_judged_beside_a_control() -> None:
    trace = Trace.of(falling(2.3, 0.9, 400))
    assert judge(trace, {}) == NeedsControl(ZEROED_INPUTS)
    verdict = judge(trace, {}, Trace.of(falling(2.3, 2.1, 400)))
    assert isinstance(verdict, FailIfConfirmed)  # a fault may keep it from doing far better: said only with proof
    assert isinstance(verdict.otherwise, Passed)


def test_no_better_than_the_control_cannot_be_judged() -> None:
    verdict = judge(Trace.of(falling(2.3, 0.9, 400)), {}, Trace.of(falling(2.3, 0.9, 400)))
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)
    assert "zeroed inputs (0.900)" in verdict.otherwise.reason


def test_a_negative_loss_that_falls_on_passes_beside_its_control() -> None:
    trace = Trace.of(falling(-1.0, -3.0, 400))
    verdict = judge(trace, {}, Trace.of(falling(-1.0, -1.2, 400)))
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, Passed)


def test_a_creep_is_not_excused_by_a_slower_control() -> None:
    creep = Trace.of([2.3 - 0.0005 * step for step in range(400)])
    slower = Trace.of([2.3 - 0.0001 * step for step in range(400)])
    symptom = judge(creep, {}, slower)
    assert isinstance(symptom, Symptom)
    assert symptom.category == "not-learning"


def test_a_rising_loss_is_instability() -> None:
    symptom = judge(Trace.of([1.0 + 0.1 * step for step in range(200)]), {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == "instability"


def test_an_oscillating_loss_is_instability() -> None:
    symptom = judge(Trace.of([3.0 if step % 2 == 0 else 1.0 for step in range(200)]), {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == "instability"


def test_nan_is_critical() -> None:
    trace = Trace.of([2.3, 2.2, math.nan])
    trace.nonfinite = NonFinite(2, "the loss", "nan")
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert (symptom.category, symptom.severity) == ("explosion", "critical")
    assert symptom.summary == "the loss is nan at step 2 (2.300 -> 2.200 until then)"


def test_a_long_warm_up_cannot_be_judged() -> None:
    trace = Trace.of([2.303] * 200)
    trace.wiring.optimizers["Adam"] = OptimizerRecord(
        "Adam", "Adam", lr={s: 1e-7 * s for s in (0, 1, 2, 4, 8, 16, 32, 64, 128)}
    )
    verdict = judge(trace, {})
    assert isinstance(verdict, CouldNotJudge)
    assert "warming up" in verdict.reason


def asked_of(trace: Trace) -> str:
    judgement = judge(trace, {})
    assert isinstance(judgement, NeedsControl)
    return judgement.control.label


def test_adversaries_are_not_judged_by_their_sum_but_one_by_one() -> None:
    trace = Trace.of([1.4] * 200)
    trace.backwards = [2] * 200
    for name in ("G", "D"):
        trace.wiring.optimizers[name] = OptimizerRecord(name, "Adam", steps=200)
    assert asked_of(trace) == "only G learns"


def test_a_loop_without_updates_is_not_waited_for_for_ever() -> None:
    trace = Trace.of([2.3] * 200)
    trace.updates = [0] * 200
    assert stop_when(trace, {})


def test_an_accumulating_loop_gets_its_updates() -> None:
    trace = Trace.of([2.3] * 400)
    trace.updates = [int(step % 8 == 7) for step in range(400)]
    assert not stop_when(trace, {})


def test_a_loss_that_moves_by_itself_is_judged_beside_no_learning() -> None:
    """A queue of negatives fills: the loss rises, but less than it would without learning."""
    rising = Trace.of(falling(1.4, 1.9, 200))
    plain = dict.fromkeys((reference.label for reference in REFERENCES), rising)
    assert judge_beside(rising, {}, plain) == NeedsControl(UNTRAINED, once=True)
    assert isinstance(judge_beside(rising, {}, {**plain, UNTRAINED.label: Trace.of(falling(1.4, 2.3, 200))}), Passed)
    assert isinstance(judge_beside(rising, {}, {**plain, UNTRAINED.label: Trace.of([1.4] * 200)}), Symptom)


def test_a_loss_function_below_its_least_value_is_a_symptom() -> None:
    trace = Trace.of(falling(1.0, 0.0, 200))
    trace.loss.calls = [LossCall("nll_loss", step=1, value=-0.3)]
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == "silently-wrong"
    assert symptom.summary == "nll_loss is -0.300 at step 1: with valid inputs it is never below 0"


def test_a_density_may_be_above_one() -> None:
    trace = Trace.of(falling(1.0, -3.0, 200))
    trace.loss.calls = [LossCall("gaussian_nll_loss", step=1, value=-0.3)]
    assert isinstance(judge(trace, {}), Passed)


def test_one_single_class_makes_a_loss_of_zero() -> None:
    trace = Trace.of([0.0] * 200)
    assert isinstance(judge(trace, {}), CouldNotJudge)
    trace.loss.calls = [LossCall("cross_entropy", classes=1, value=0.0)]
    assert isinstance(judge(trace, {}), Symptom)


def test_a_loss_that_falls_on_a_comparison_of_all_with_all_is_doubtful() -> None:
    trace = Trace.of(falling(100.0, 1.0, 200))
    trace.loss.calls = [LossCall("mse_loss", input=TensorSummary((16, 1)), target=TensorSummary((16,)), terms=256)]
    verdict = judge(trace, {})
    assert isinstance(verdict, FailIfConfirmed)
    assert verdict.symptom.category == "silently-wrong"
    trace.applied.to_the_loss = "matching_shapes"
    assert isinstance(judge(trace, {}), Passed)


def test_what_is_maximized_may_rise() -> None:
    trace = Trace.of([0.2 + 0.01 * step for step in range(200)])
    trace.wiring.optimizers["Adam"] = OptimizerRecord("Adam", "Adam", steps=200, maximize=True)
    verdict = judge(trace, {})
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)


def cured(end: float, uncured: Trace) -> Judgement:
    """A run whose loss was cured and ends at `end`, clearly below its control, beside the run without the cure."""
    trace = Trace.of(falling(2.0, end, 400))
    trace.applied.to_the_loss = "matching_shapes"
    controls = {UNTREATED: uncured, ZEROED_INPUTS.label: Trace.of(falling(2.0, 1.9, 400))}
    return judge_beside(trace, {}, controls | dict.fromkeys((each.label for each in REFERENCES), uncured))


def test_a_cured_loss_need_not_reach_a_tenth_beside_one_that_stood_still() -> None:
    still = Trace.of([2.0] * 400)
    assert isinstance(cured(0.7, still), Passed)
    assert isinstance(cured(1.2, still), FailIfConfirmed)


def test_a_cured_loss_beside_one_that_fell_has_to_reach_a_tenth() -> None:
    assert isinstance(cured(0.7, Trace.of(falling(2.0, 1.5, 400))), FailIfConfirmed)


def test_a_cured_loss_beside_scores_that_were_squashed_twice_has_to_be_clearly_lower() -> None:
    twice = Trace.of(falling(2.0, 1.5, 400))
    twice.loss.calls = [LossCall("cross_entropy", activation="softmax", over=5, classes=5)]
    assert isinstance(cured(0.7, twice), Passed)
    assert isinstance(cured(1.2, twice), FailIfConfirmed)


def test_another_cure_has_to_reach_a_tenth() -> None:
    trace = Trace.of(falling(2.0, 0.7, 400))
    still = Trace.of([2.0] * 400)
    controls = {UNTREATED: still, ZEROED_INPUTS.label: Trace.of(falling(2.0, 1.9, 400))}
    controls |= dict.fromkeys((reference.label for reference in REFERENCES), still)
    assert isinstance(judge_beside(trace, {}, controls), FailIfConfirmed)


def test_a_penalty_that_falls_is_no_learning() -> None:
    trace = Trace.of([25.0, *[1.0] * 199])
    trace.loss.calls.append(LossCall("mse_loss", value=1.0, weight=1.0))
    assert isinstance(judge(trace, {}), Passed)
    trace.numbers.penalties.append(Place("train.py", 9))
    doubt = judge(trace, {})
    assert isinstance(doubt, FailIfConfirmed)
    assert "penalty on the parameters" in doubt.symptom.summary
    trace.losses[-20:] = [0.2] * 20
    assert isinstance(judge(trace, {}), Passed)


def test_adversaries_that_take_turns_are_judged_one_by_one() -> None:
    trace = Trace.of([1.4, 0.6] * 100)
    trace.wiring.optimizers = {name: OptimizerRecord(name, "Adam", steps=100) for name in ("Adam", "Adam[1]")}
    assert asked_of(trace) == "only Adam learns"


def classified(losses: list[float], chance: float = 1.4) -> Trace:
    """Of a cross-entropy: its floor is 0, and a guess gives `chance`."""
    trace = Trace.of(losses)
    call = LossCall("cross_entropy", weight=1.0, sole=True, given_target=True, floor=0.0, chance=chance)
    trace.loss.calls = [call, replace(call, step=1)]
    return trace


def test_what_came_more_than_half_of_the_way_fails_only_with_proof_and_does_not_pass() -> None:
    verdict = judge(classified(falling(6.91, 0.73, 400), 2.08), {}, plain=classified(falling(2.08, 0.0, 200), 2.08))
    assert isinstance(verdict, FailIfConfirmed)
    assert not verdict.rates
    assert isinstance(verdict.otherwise, CouldNotJudge)
    assert "65 % of the way" in verdict.otherwise.reason


@pytest.mark.parametrize(("first", "last", "chance"), [(1.61, 0.73, 1.41), (54.0, 2.2, 2.3), (3.45, 1.85, 2.72)])
def test_what_a_plain_recipe_does_far_better_fails_wherever_it_started(
    first: float, last: float, chance: float
) -> None:
    """Neither a tenth of a bad start nor being better than zeroed inputs is memorising."""
    trace, plain = classified(falling(first, last, 400), chance), classified(falling(chance, 0.0, 200), chance)
    symptom = judge(trace, {}, plain=plain)
    assert isinstance(symptom, Symptom)
    assert symptom.suspects == "recipe"
    assert "a plain recipe gets to" in symptom.summary


def test_adapters_fail_only_with_proof() -> None:
    """They are small on purpose, beside a model that is frozen on purpose: a plain recipe with a rate of 0.01 is no
    measure for theirs."""
    trace, plain = classified(falling(3.45, 1.85, 60), 2.72), classified(falling(2.72, 0.0, 60), 2.72)
    for name, shape in (("query.base.weight", (32, 48)), ("query.down.weight", (4, 48)), ("query.up.weight", (32, 4))):
        trained = "base" not in name
        trace.wiring.parameters[name] = ParameterRecord(name, shape, shape[0] * shape[1], trained, moved=trained)
    verdict = judge(trace, {}, plain=plain)
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)


def test_what_a_plain_recipe_does_no_better_is_not_passed_without_proof() -> None:
    trace = classified(falling(1.4, 0.6, 400))
    verdict = judge(trace, {}, plain=classified(falling(1.4, 0.58, 400)))
    assert isinstance(verdict, FailIfConfirmed)
    assert verdict.symptom.suspects == "model"
    assert isinstance(verdict.otherwise, CouldNotJudge)


def test_a_guess_whatever_the_recipe_is_a_symptom() -> None:
    symptom = judge(classified(falling(6.0, 1.4, 400)), {}, plain=classified(falling(1.5, 1.4, 400)))
    assert isinstance(symptom, Symptom)
    assert symptom.suspects == "model"


def test_smoothed_labels_have_a_floor_that_counts() -> None:
    trace = classified(falling(2.3, 0.51, 400), 2.3)
    for call in trace.loss.calls:
        call.floor = 0.5
    assert isinstance(judge(trace, {}), Passed)


def test_equal_targets_cannot_be_judged() -> None:
    trace = classified(falling(1.0, 0.0, 200), chance=0.0)
    assert judge(trace, {}) == NeedsControl(ZEROED_INPUTS)
    verdict = judge(trace, {}, Trace.of(falling(1.0, 0.0, 200)))
    assert isinstance(verdict, CouldNotJudge)
    assert "equal" in verdict.reason


def test_equal_targets_that_only_the_inputs_explain_are_memorised() -> None:
    """In a queue of negatives the right one always stands at the same place."""
    trace = classified(falling(1.0, 0.0, 200), chance=0.0)
    assert isinstance(judge(trace, {}, Trace.of(falling(1.0, 0.9, 200))), Passed)


@pytest.mark.parametrize("activation", ["", "softmax"])
def test_a_warm_up_is_no_excuse_for_what_the_loss_is_given(activation: str) -> None:
    """Where scores come out of a softmax, it is asked whether the loss gets there without, in the same time."""
    trace = classified(falling(1.4, 0.9, 400))
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", lr={1: 0.1, 2: 0.2, 4: 0.4}, steps=400)
    for call in trace.loss.calls:
        call.activation = activation
    verdict = judge(trace, {})
    early = verdict.otherwise if isinstance(verdict, FailIfConfirmed) else verdict
    assert isinstance(verdict, FailIfConfirmed) is bool(activation)
    assert isinstance(early, CouldNotJudge)
    assert "still warming up" in early.reason
