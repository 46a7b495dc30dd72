"""What the course of a loss over several batches means, and what it does not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pytest_trainhealth.analysis.misalignment import HELD_OUT
from pytest_trainhealth.analysis.reference_points import REFERENCES
from pytest_trainhealth.analysis.without_a_floor import UNTRAINED, ZEROED_INPUTS
from pytest_trainhealth.checks.learns_from_data import judge as judge_beside
from pytest_trainhealth.checks.learns_from_data import stop_when
from pytest_trainhealth.records.data import Alignment, Repaired
from pytest_trainhealth.records.judgement import (
    UNTREATED,
    CouldNotJudge,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    Passed,
)
from pytest_trainhealth.records.losses import LossCall, TensorSummary
from pytest_trainhealth.records.numbers import ActivationRecord
from pytest_trainhealth.records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, SILENT
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord

CHANCE = 2.303


def judge(
    trace: Trace, settings: dict[str, float], controls: dict[str, Trace] | None = None, plain: Trace | None = None
) -> Judgement:
    """Beside a plain recipe that gets no further."""
    beside = dict.fromkeys((reference.label for reference in REFERENCES), plain or trace)
    return judge_beside(trace, settings, {**beside, **(controls or {})})


def classified(losses: list[float], chance: float = CHANCE) -> Trace:
    """Of a cross-entropy: its floor is 0, and a guess gives `chance`."""
    trace = Trace.of(losses)
    call = LossCall("cross_entropy", weight=1.0, sole=True, given_target=True, floor=0.0, chance=chance)
    trace.loss.calls = [call, replace(call, step=1)]
    return trace


def noisy(level: float, steps: int, spread: float = 0.1) -> list[float]:
    generator = random.Random(0)
    return [level * (1 + spread * generator.uniform(-1, 1)) for _ in range(steps)]


def with_rates(trace: Trace, rates: list[float]) -> Trace:
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", rates=rates, steps=len(rates))
    return trace


def with_updates(trace: Trace, size: float) -> Trace:
    trace.wiring.parameters["fc.weight"] = ParameterRecord("fc.weight", (8, 8), 64, updates={0: size, 1: size, 2: size})
    return trace


def test_random_labels_stay_at_chance_and_cannot_be_judged():
    verdict = judge(classified(noisy(CHANCE, 160)), {})
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)
    assert "random labels" in verdict.otherwise.reason


@pytest.mark.parametrize(("first", "last"), [(6.91, 2.29), (2.75, 2.27)])
def test_chance_after_a_bad_start_is_not_learning(first: float, last: float):
    """Where a plain recipe learns, it is a fault; where it does not, nobody can tell."""
    trace = classified([first, *noisy(last, 159, 0.01)])
    symptom = judge(trace, {}, plain=classified([CHANCE * 0.97**step for step in range(160)]))
    assert isinstance(symptom, Symptom)
    assert symptom.suspects == "recipe"
    verdict = judge(trace, {})
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)


def test_half_of_the_way_down_to_the_floor_is_learning():
    assert isinstance(judge(classified([CHANCE * 0.985**step for step in range(80)]), {}), Passed)


def test_without_a_single_update_nothing_is_learnt():
    trace = classified(noisy(CHANCE, 80))
    trace.updates = [0] * 80
    trace.wiring.parameters["fc.weight"] = ParameterRecord("fc.weight", (8, 8), 64, moved=False)
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == NOT_LEARNING


def test_equal_targets_are_judged_beside_runs_that_cannot_learn():
    """The same answer is right for every sample, unless what is asked comes from the inputs, as in a queue."""
    trace = classified([1.0 * 0.9**step for step in range(80)], chance=0.0)
    assert judge(trace, {}) == NeedsControl(UNTRAINED, once=True)
    as_low, flat = classified(list(trace.losses), chance=0.0), classified([1.0] * 80, chance=0.0)
    assert isinstance(judge(trace, {}, {UNTRAINED.label: as_low}), CouldNotJudge)
    assert judge(trace, {}, {UNTRAINED.label: flat}) == NeedsControl(ZEROED_INPUTS)
    assert isinstance(judge(trace, {}, {UNTRAINED.label: flat, ZEROED_INPUTS.label: as_low}), CouldNotJudge)
    assert isinstance(judge(trace, {}, {UNTRAINED.label: flat, ZEROED_INPUTS.label: flat}), Passed)


def unpredictable(structured: bool) -> Trace:
    trace = classified([CHANCE * 0.98**step for step in range(160)])
    trace.data.alignment = Alignment(256, "classes", 0.1, 0.1, 0.1, at_chance=True, structured=structured)
    return trace


@pytest.mark.parametrize(("unseen", "wrong"), [(2.4, True), (1.9, False)])
def test_structured_inputs_whose_targets_carry_nothing_over_are_a_symptom(unseen: float, wrong: bool):
    assert judge(unpredictable(True), {}) == NeedsControl(HELD_OUT, once=True)
    control = classified([1.0, 1.0, 1.0, unseen] * 40)
    control.applied.held_out = list(range(3, 160, 4))
    assert isinstance(judge(unpredictable(True), {}, {HELD_OUT.label: control}), Symptom) is wrong


def test_labels_that_are_memorised_from_white_noise_are_no_fault():
    assert isinstance(judge(unpredictable(False), {}), Passed)


@pytest.mark.parametrize(("unseen", "outcome"), [(2.4, CouldNotJudge), (1.9, Passed)])
def test_a_small_fall_of_targets_that_no_probe_predicts_has_to_carry_over(unseen: float, outcome: type):
    """A third of the way down, of noise: by heart, unless the same holds for batches that were not learnt from."""
    trace = classified([CHANCE * 0.997**step for step in range(160)])
    trace.data.alignment = Alignment(256, "classes", 0.1, 0.1, 0.1, at_chance=True)
    assert judge(trace, {}) == NeedsControl(HELD_OUT, once=True)
    control = classified([1.0, 1.0, 1.0, unseen] * 40)
    control.applied.held_out = list(range(3, 160, 4))
    assert isinstance(judge(trace, {}, {HELD_OUT.label: control}), outcome)
    trace.data.alignment = replace(trace.data.alignment, used=0.2)  # a hint is enough
    assert isinstance(judge(trace, {}), Passed)


def test_it_stops_when_all_is_learnt():
    assert stop_when(Trace.of([CHANCE, *[0.01] * 49]), {})
    assert not stop_when(Trace.of([CHANCE, *[0.5] * 49]), {})
    assert stop_when(Trace.of([CHANCE, *[0.5] * 79]), {})


def test_one_that_has_not_come_half_of_its_way_gets_twice_the_time():
    assert not stop_when(Trace.of([CHANCE] * 80), {})
    assert stop_when(Trace.of([CHANCE] * 160), {})


def test_targets_that_fit_in_another_order_are_a_symptom_whatever_the_loss_does():
    trace = Trace.of([CHANCE - 0.02 * step for step in range(80)])
    trace.data.alignment = Alignment(256, "classes", 0.1, 0.09, 0.97, "the sample before it")
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == SILENT
    assert "97 %" in symptom.summary
    assert "the sample before it" in symptom.summary


def test_targets_that_fit_in_no_order_are_none():
    trace = Trace.of(noisy(CHANCE, 80))
    trace.data.alignment = Alignment(256, "classes", 0.1, 0.09, 0.09)
    verdict = judge(trace, {})
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)


def test_targets_that_change_from_epoch_to_epoch_are_a_symptom_that_no_cure_takes_away():
    trace = Trace.of(noisy(CHANCE, 80))
    trace.data.repaired = Repaired(192, 140)
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert symptom.category == SILENT
    assert "140 of 192" in symptom.summary
    cured = Trace.of([CHANCE, *[0.1] * 79])
    cured.data.repaired = trace.data.repaired
    assert isinstance(judge(cured, {}, {UNTREATED: trace}), Symptom)


def test_targets_that_the_step_gives_to_others_are_a_symptom():
    trace = Trace.of(noisy(CHANCE, 80))
    trace.data.alignment = Alignment(256, "values", 0.0, 0.0, 0.0, "its place in the batch", "step", crossed=235)
    symptom = judge(trace, {})
    assert isinstance(symptom, Symptom)
    assert "235 of 256" in symptom.summary


def test_a_rate_that_grows_without_end_is_no_warm_up():
    warm, endless = ([0.01 * factor for factor in factors] for factors in (
        [min(1.0, (step + 1) / 100) for step in range(80)], [1.05**step for step in range(80)]
    ))  # fmt: skip
    for rates, odd in ((warm, False), (endless, True)):
        trace = with_rates(Trace.of(noisy(CHANCE, 80)), rates)
        record = trace.wiring.optimizers["SGD"]
        record.initial_lr, record.lr = 0.01, {step: rates[step] for step in (0, 1, 8, 32, 64)}
        assert isinstance(judge(trace, {}), FailIfConfirmed) is odd


def test_a_rate_that_is_gone_is_worth_a_look_and_no_alarm():
    verdict = judge(with_rates(Trace.of(noisy(CHANCE, 80)), [0.1] * 10 + [0.0] * 70), {})
    assert isinstance(verdict, FailIfConfirmed)
    assert verdict.symptom.category == NOT_LEARNING
    assert isinstance(verdict.otherwise, CouldNotJudge)


def test_nothing_is_odd_where_all_was_learnt():
    losses = [CHANCE, *[CHANCE / 2] * 39, *[0.01] * 40]
    assert isinstance(judge(with_rates(Trace.of(losses), [0.1] * 40 + [0.0] * 40), {}), Passed)


@pytest.mark.parametrize(("size", "odd"), [(1e-3, False), (0.5, True), (1e-6, True)])
def test_a_flat_loss_is_odd_beside_steps_out_of_size(size, odd):
    verdict = judge(with_updates(Trace.of(noisy(CHANCE, 80)), size), {})
    assert isinstance(verdict, FailIfConfirmed)
    assert verdict.rates is odd


def test_large_steps_that_still_lead_down_are_fine():
    losses = [CHANCE * 0.995**step for step in range(80)]
    assert isinstance(judge(with_updates(Trace.of(losses), 0.5), {}), Passed)


def test_a_loss_that_bounces_is_unstable():
    losses = [CHANCE * (0.8**step) for step in range(8)] + [0.3, 0.6] * 36
    verdict = judge(Trace.of(losses), {})
    assert isinstance(verdict, FailIfConfirmed)
    assert verdict.symptom.category == INSTABILITY


def test_nan_is_an_explosion():
    verdict = judge(Trace.of([CHANCE, float("nan")]), {})
    assert isinstance(verdict, Symptom)
    assert verdict.category == EXPLOSION


@pytest.mark.parametrize(("end", "healed"), [(0.2, True), (1.0, True), (1.5, False), (2.2, False)])
def test_a_cure_heals_where_it_does_far_better(end, healed):
    failed_run, cured = Trace.of(noisy(CHANCE, 80)), Trace.of([CHANCE] * 20 + noisy(end, 60))
    assert isinstance(judge(cured, {}, {UNTREATED: failed_run}), Passed) is healed


def test_a_cure_that_had_no_effect_heals_nothing():
    failed_run, cured = Trace.of(noisy(CHANCE, 80)), Trace.of([CHANCE, *[0.1] * 79])
    cured.applied.without_effect.append("larger_batches")
    assert isinstance(judge(cured, {}, {UNTREATED: failed_run}), Symptom)


def test_without_a_step_there_is_no_judgement():
    assert isinstance(judge(Trace.of(), {}), CouldNotJudge)


def test_far_worse_than_a_guess_after_all_steps_is_worth_a_look():
    trace = Trace.of([12000.0 / (1 + step) + 100 for step in range(80)])
    trace.loss.calls.append(LossCall("mse_loss", target=TensorSummary(std=1.0), weight=1.0, sole=True))
    doubt = judge(trace, {})
    assert isinstance(doubt, FailIfConfirmed)
    assert doubt.symptom.suspects == "recipe"
    assert "the same guess" in doubt.symptom.summary
    healed = Trace.of([8.0] + [0.4] * 79)
    assert isinstance(judge(healed, {}, {UNTREATED: trace}), Passed)


#: Fell far, then stays where it is, without a large spread.
STAYS = [4.0, *noisy(0.3, 79, 0.05)]


def at_a_rate(trace: Trace, rates: list[float], update: float) -> Trace:
    return with_updates(with_rates(trace, rates), update)


def test_steps_as_large_as_ever_where_the_loss_stays_are_doubtful_however_far_it_fell():
    verdict = judge(at_a_rate(Trace.of(STAYS), [0.5] * 80, 0.4), {})
    assert isinstance(verdict, FailIfConfirmed)
    assert verdict.rates
    assert not stop_when(at_a_rate(Trace.of(STAYS[:50]), [0.5] * 50, 0.4), {})


def test_small_steps_or_a_rate_that_falls_are_as_they_should_be():
    assert isinstance(judge(at_a_rate(Trace.of(STAYS), [0.5] * 80, 0.05), {}), Passed)
    assert isinstance(judge(at_a_rate(Trace.of(STAYS), [0.5] * 40 + [0.1] * 40, 0.4), {}), Passed)
    assert stop_when(at_a_rate(Trace.of(STAYS[:50]), [0.5] * 50, 0.05), {})


@pytest.mark.parametrize(("share", "healthy"), [(0.1, True), (0.3, False)])
def test_a_decay_has_to_lead_to_a_fifth_over_the_last_steps(share: float, healthy: bool):
    uncured = at_a_rate(Trace.of(STAYS), [0.5] * 80, 0.4)
    cured = Trace.of([*STAYS[:40], *[0.25] * 20, *[0.3 * share] * 20])
    cured.cured, cured.applied.smaller_steps_from = True, 40
    assert isinstance(judge(cured, {}, {UNTREATED: uncured}), Passed) == healthy


def test_a_run_with_a_cure_is_as_long_as_the_one_without():
    trace = Trace.of([CHANCE, *[0.01] * 49])
    assert stop_when(trace, {})
    trace.cured = True
    assert not stop_when(trace, {})


def with_betas(trace: Trace, *betas: float) -> Trace:
    trace = with_rates(trace, [0.01] * len(trace.losses))
    trace.wiring.optimizers["SGD"].settings = {f"betas[{i}]": beta for i, beta in enumerate(betas)}
    return trace


def test_betas_the_wrong_way_round_are_doubtful_however_far_the_loss_fell():
    falls = [2 * 0.94**step for step in range(80)]
    assert isinstance(judge(with_betas(Trace.of(falls), 0.999, 0.9), {}), FailIfConfirmed)
    assert isinstance(judge(with_betas(Trace.of(falls), 0.99, 0.999), {}), Passed)
    assert isinstance(judge(with_betas(Trace.of(falls), 0.9, 0.95), {}), Passed)


def test_where_betas_are_the_wrong_way_round_half_of_a_low_loss_is_far_better():
    low, lower = [2.0, *[0.1] * 79], [2.0, *[0.04] * 79]
    assert isinstance(judge(Trace.of(lower), {}, {UNTREATED: with_betas(Trace.of(low), 0.999, 0.9)}), Passed)
    assert isinstance(judge(Trace.of(lower), {}, {UNTREATED: with_betas(Trace.of(low), 0.9, 0.999)}), Symptom)
    assert isinstance(judge(Trace.of(low), {}, {UNTREATED: with_betas(Trace.of(low), 0.999, 0.9)}), Symptom)


@pytest.mark.parametrize(
    ("values", "batch_size", "only_if_confirmed"),
    [
        ({"bn1": 2, "bn2": 2}, 2, True),
        ({"bn1": 8, "bn2": 8}, 8, False),
        ({"bn1": 288, "bn2": 288, "pooled": 2}, 2, False),  # one behind a global pooling
        ({"bn1": 2, "bn2": 2}, 32, False),  # the last batch of an epoch
    ],
)
def test_norms_over_two_values_are_doubtful_however_far_the_loss_fell(values, batch_size, only_if_confirmed):
    trace = Trace.of([2 * 0.94**step for step in range(80)])
    trace.numbers.values_per_channel, trace.batch_size = values, batch_size
    assert isinstance(judge(trace, {}), FailIfConfirmed) == only_if_confirmed


@pytest.mark.parametrize(("share", "only_if_confirmed"), [(0.9, True), (0.1, False)])
def test_units_at_their_ends_from_the_start_are_doubtful(share: float, only_if_confirmed: bool):
    trace = Trace.of([2 * 0.94**step for step in range(80)])
    trace.numbers.activations["tanh"] = ActivationRecord("tanh", "body", 8, saturated={0: share, 32: 0.9})
    assert isinstance(judge(trace, {}), FailIfConfirmed) == only_if_confirmed


def test_units_at_their_ends_may_yet_leave_a_plateau():
    trace = Trace.of(noisy(CHANCE, 80, 0.02))
    trace.numbers.activations["tanh"] = ActivationRecord("tanh", "body", 8, saturated={0: 0.97})
    verdict = judge(trace, {})
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)


def sure(first: float, steps: int, classes: int = 10) -> Trace:
    """Starts at `first`, is down at a guess after `steps`, and learns."""
    down = [first + (CHANCE - first) * step / steps for step in range(steps)] if steps else []
    trace = classified([*down, *(CHANCE * 0.95**step for step in range(160 - steps))])
    trace.loss.calls = [
        replace(call, classes=classes, target=TensorSummary(dtype="int64")) for call in trace.loss.calls
    ]
    return trace


@pytest.mark.parametrize(("first", "steps", "odd"), [(54.0, 30, True), (54.0, 10, False), (6.0, 30, False)])
def test_a_start_far_above_a_guess_is_odd_where_it_takes_long_to_undo(first: float, steps: int, odd: bool) -> None:
    """An angular margin starts at six times a guess, and is down after 12 steps."""
    verdict = judge(sure(first, steps), {})
    assert isinstance(verdict, FailIfConfirmed if odd else Passed)
    if isinstance(verdict, FailIfConfirmed):
        assert "23 times that of a guess" in verdict.symptom.summary
        assert "31 steps" in verdict.symptom.summary


@pytest.mark.parametrize(("first", "steps", "healed"), [(2.5, 4, True), (2.5, 20, False), (54.0, 4, False)])
def test_what_calms_the_start_has_to_save_half_of_the_steps(first: float, steps: int, healed: bool) -> None:
    verdict = judge(sure(first, steps), {}, {UNTREATED: sure(54.0, 30)})
    assert isinstance(verdict, Passed if healed else Symptom)


def test_single_samples_are_judged_by_their_mean() -> None:
    """Most are told with confidence, and one of five wrongly with as much: on average that is worse than a guess."""
    trace = classified([1.1, *([0.01, 0.01, 0.01, 0.01, 9.0] * 32)])
    trace.batch_size = 1
    trace.loss.calls = [replace(call, classes=3, target=TensorSummary(dtype="int64")) for call in trace.loss.calls]
    verdict = judge(trace, {}, plain=classified([1.1 * 0.97**step for step in range(160)]))
    assert not isinstance(verdict, Passed)
    trace.batch_size = 32
    assert isinstance(judge(trace, {}), Passed | FailIfConfirmed)


def test_units_at_their_ends_get_the_whole_time() -> None:
    """The layers after them learn at first; that they stop shows later."""
    trace = classified([CHANCE * 0.98**step for step in range(80)])
    trace.updates = [1] * 80
    assert stop_when(trace, {})
    trace.numbers.activations["tanh"] = ActivationRecord("tanh", "body", 8, saturated={0: 0.8})
    assert not stop_when(trace, {})


@pytest.mark.parametrize(("factor", "outcome"), [(0.98, Passed), (1.0, NeedsControl)])
def test_several_optimizers_may_follow_losses_that_all_fall(factor: float, outcome: type) -> None:
    """An actor and a critic: what has come half of its way down has learnt. Else each is asked alone."""
    trace = classified([CHANCE * factor**step for step in range(80)])
    trace.backwards = [2] * 80
    for label in ("actor", "critic"):
        trace.wiring.optimizers[label] = OptimizerRecord(label, "Adam", steps=80)
    assert isinstance(judge(trace, {}), outcome)


# -- rates whose course shows late -----------------------------------------------------------------


def updated(losses: list[float], rates: list[float]) -> Trace:
    trace = with_rates(classified(losses), rates)
    trace.updates = [1] * len(rates)
    return trace


def test_a_rate_that_comes_back_from_0_is_watched_until_it_does_harm():
    rates = [0.1 * (1 - step / 25) ** 2 for step in range(400)]
    for steps in (80, 160, 240):
        losses = [CHANCE, *noisy(0.1, steps - 1)]
        assert not stop_when(updated(losses, rates[:steps]), {})
        assert stop_when(updated(losses, [0.1] * steps), {})
    assert stop_when(updated([CHANCE, *noisy(0.1, 119), *noisy(5.0, 120)], rates[:240]), {})
    assert not stop_when(updated([CHANCE, *noisy(0.1, 29), *noisy(5.0, 50)], rates[:80]), {})


def test_a_rate_that_compounds_is_watched_until_it_has_been_gone_for_a_third_of_the_run():
    rates = [0.1]
    for step in range(400):
        rates.append(rates[-1] * (1 - step / 2000))
    gone = next(i for i, rate in enumerate(rates) if rate < 0.002)
    assert gone > 107  # of 160
    assert not stop_when(updated(noisy(1.0, 160), rates[:160]), {})
    assert not stop_when(updated(noisy(1.0, gone), rates[:gone]), {})
    assert stop_when(updated(noisy(1.0, 300), rates[:300]), {})
    cured = updated(noisy(1.0, 200), [0.1] * 200)
    cured.cured, cured.applied.lasts = True, 300
    assert not stop_when(cured, {})
    cured.applied.lasts = 200
    assert stop_when(cured, {})
