"""overfits_one_batch at its limits: each condition of its judgement, and each value just below and just above."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_trainhealth.analysis.reference_points import REFERENCES
from pytest_trainhealth.analysis.run_failures import UNSEEN_LOSS
from pytest_trainhealth.analysis.without_a_floor import UNTRAINED, ZEROED_INPUTS
from pytest_trainhealth.checks.overfits_one_batch import judge, max_steps, result, stop_when
from pytest_trainhealth.records.judgement import (
    UNTREATED,
    CouldNotJudge,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    Passed,
)
from pytest_trainhealth.records.losses import GeneratorRange, LossCall, TensorSummary
from pytest_trainhealth.records.numbers import Crash
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord

CHANCE = 2.0


def curve(last: float, first: float = CHANCE, steps: int = 400) -> list[float]:
    """Down at once, and flat: it ends at `last` whichever way one looks."""
    return [first, *[last] * (steps - 1)]


def known(losses: list[float], chance: float | None = CHANCE, floor: float = 0.0, steady: bool = True) -> Trace:
    """Of a loss function whose floor and chance are known."""
    trace = Trace.of(losses)
    call = LossCall("cross_entropy", weight=1.0, sole=True, given_target=steady, floor=floor, chance=chance)
    trace.loss.calls = [call, replace(call, step=1)]
    return trace


def beside(plain: float, zeroed: float | None = None, untrained: float = CHANCE, **others: Trace) -> dict[str, Trace]:
    controls = {reference.label: Trace.of(curve(plain)) for reference in REFERENCES}
    controls[UNTRAINED.label] = Trace.of(curve(untrained))
    if zeroed is not None:
        controls[ZEROED_INPUTS.label] = Trace.of(curve(zeroed))
    return controls | others


def kind(judgement: Judgement) -> str:
    if isinstance(judgement, FailIfConfirmed):
        rates = ", rates" if judgement.rates else ""
        return f"{judgement.symptom.suspects or 'fails'} if confirmed, else {kind(judgement.otherwise)}{rates}"
    if isinstance(judgement, Symptom):
        return judgement.suspects or "fails"
    if isinstance(judgement, NeedsControl):
        return f"needs {judgement.control.label}"
    return "passes" if isinstance(judgement, Passed) else "cannot judge"


# -- how long it takes --------------------------------------------------------------------------------------------


def test_a_run_gets_twice_its_steps_with_eight_calls_for_each() -> None:
    assert max_steps({}) == 3200
    assert max_steps({"steps": 10}) == 160


@pytest.mark.parametrize(
    ("updates", "calls", "stops"),
    [(0, 199, False), (0, 200, True), (199, 199, False), (200, 200, True), (399, 399, False), (400, 400, True)],
)
def test_when_a_loss_that_does_not_fall_has_had_its_time(updates: int, calls: int, stops: bool) -> None:
    trace = Trace.of([1.0] * calls)
    trace.updates = [1] * updates + [0] * (calls - updates)
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=updates)
    assert stop_when(trace, {}) is stops


@pytest.mark.parametrize(
    ("calls", "steps", "stops"), [(63, 10, False), (64, 10, True), (64, 100, False), (100, 100, True)]
)
def test_without_updates_it_waits_for_sixty_four_calls_at_least(calls: int, steps: int, stops: bool) -> None:
    trace = Trace.of([1.0] * calls)
    trace.updates = [0] * calls
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD")
    assert stop_when(trace, {"steps": steps}) is stops


@pytest.mark.parametrize(("calls", "stops"), [(64, False), (199, False), (200, True)])
def test_a_loop_that_updates_by_hand_gets_the_time_of_any_other(calls: int, stops: bool) -> None:
    trace = Trace.of([1.0] * calls)
    trace.updates = [0] * calls
    assert stop_when(trace, {}) is stops


@pytest.mark.parametrize(("steps", "stops"), [(200, True), (201, False), (224, False), (225, True), (250, True)])
def test_one_that_fell_and_stands_still_is_asked_every_twenty_five_steps(steps: int, stops: bool) -> None:
    assert stop_when(Trace.of([2.0] * 20 + [1.0] * (steps - 20)), {}) is stops


@pytest.mark.parametrize(
    ("losses", "stops"), [([2.0, 0.1, 0.1, 0.1], True), ([2.0, 0.1, 0.1], False), ([2.0, 0.3, 0.1, 0.21], False)]
)
def test_three_low_losses_after_the_first_keep_the_promise(losses: list[float], stops: bool) -> None:
    assert stop_when(Trace.of(losses), {}) is stops
    assert not stop_when(Trace.of(losses), {"ratio": 0.01})


def test_a_player_that_has_won_alone_need_not_go_on() -> None:
    trace = Trace.of([1.0] * 64)
    assert not stop_when(trace, {})
    trace.applied.player_losses = [1.0 - 0.01 * turn for turn in range(64)]
    assert stop_when(trace, {})


# -- beside a plain recipe ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "plain", "said"),
    [
        (0.19, 0.0, "passes"),
        (0.21, 0.0, "passes"),  # came nearly as far as the plain recipe
        (0.29, 0.0, "passes"),
        (0.31, 0.0, "recipe if confirmed, else cannot judge"),  # more than 0.15 of the way
        (0.99, 0.0, "recipe if confirmed, else cannot judge"),
        (1.01, 0.0, "recipe"),  # not half of the way
        (0.3, 0.23, "passes"),  # the plain one nearly keeps the promise
        (0.3, 0.25, "model if confirmed, else cannot judge"),  # it does not
        (1.79, 1.78, "model if confirmed, else cannot judge"),
        (1.81, 1.79, "model"),  # no better than a guess
        (2.5, 0.0, "recipe"),
    ],
)
def test_where_a_loss_ends_between_its_floor_and_a_guess(last: float, plain: float, said: str) -> None:
    assert kind(judge(known(curve(last)), {}, beside(plain))) == said


@pytest.mark.parametrize(
    ("last", "plain", "said"),
    [
        (1.54, 1.0, "recipe if confirmed, else cannot judge"),
        (2.9, 2.89, "model"),
        (2.7, 2.65, "model if confirmed, else cannot judge"),
        (1.25, 1.23, "passes"),
    ],
)
def test_all_of_it_is_counted_from_the_floor(last: float, plain: float, said: str) -> None:
    """A floor of 1 and a guess of 3 leave a way of 2."""
    made = known(curve(last, first=3.0), chance=3.0, floor=1.0)
    assert kind(judge(made, {}, beside(plain))) == said


def test_what_came_some_of_the_way_is_told_with_its_share() -> None:
    verdict = judge(known(curve(0.8)), {}, beside(0.0))
    assert isinstance(verdict, FailIfConfirmed)
    assert isinstance(verdict.otherwise, CouldNotJudge)
    assert "60 % of the way" in verdict.otherwise.reason
    assert verdict.otherwise.figures["above_reach"] == pytest.approx(0.4)
    assert verdict.otherwise.figures["reach"] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("steps", "said"), [(199, "recipe if confirmed, else cannot judge"), (200, "recipe"), (400, "recipe")]
)
def test_a_watched_test_that_ended_early_while_it_fell_is_not_accused(steps: int, said: str) -> None:
    losses = [CHANCE - 0.4 * step / steps for step in range(steps)]
    assert kind(judge(known(losses), {}, beside(0.0))) == said


def test_one_that_ended_early_without_a_fall_is() -> None:
    assert kind(judge(known(curve(1.5, steps=199)), {}, beside(0.0))) == "recipe"
    assert kind(judge(known([2.2 - 0.0005 * step for step in range(150)]), {}, beside(0.0))) == "recipe"


def test_the_plain_recipe_is_asked_for_once_and_may_stop() -> None:
    asked = judge(known(curve(1.0)), {})
    assert asked == NeedsControl(REFERENCES[0], once=True, may_stop=True)
    asked = judge(known(curve(1.0)), {}, {REFERENCES[0].label: Trace.of(curve(0.21))})
    assert asked == NeedsControl(REFERENCES[1], once=True, may_stop=True)
    assert not isinstance(judge(known(curve(1.0)), {}, {REFERENCES[0].label: Trace.of(curve(0.19))}), NeedsControl)


def test_a_floor_that_the_plain_recipe_breaks_was_none() -> None:
    """The targets change from step to step: then it is judged by its fall."""
    made = known(curve(1.0), floor=0.5)
    assert kind(judge(made, {}, beside(0.4, zeroed=1.9))).endswith("rates")
    assert kind(judge(made, {}, beside(0.5))) == "recipe if confirmed, else cannot judge"


def test_targets_that_are_drawn_anew_have_a_floor_of_their_own() -> None:
    assert kind(judge(known(curve(1.0), steady=False), {}, beside(0.99))) == "needs zeroed inputs"
    assert kind(judge(known(curve(1.0)), {}, beside(0.99))) == "model if confirmed, else cannot judge"
    assert kind(judge(known(curve(1.0), chance=None), {}, beside(0.99))) == "needs zeroed inputs", "no guess is known"


# -- without a known floor ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "plain", "said"),
    [
        (1.5, 0.7, "fails if confirmed, else cannot judge, rates"),
        (1.7, 0.7, "fails"),  # hardly fell, and nothing moves by itself
        (1.61, 0.7, "fails"),
        (1.59, 0.7, "fails if confirmed, else cannot judge, rates"),
        (1.0, 0.6, "needs zeroed inputs"),  # not half of it
        (1.0, 0.49, "fails if confirmed, else cannot judge, rates"),
    ],
)
def test_a_plain_recipe_has_to_do_far_better(last: float, plain: float, said: str) -> None:
    said = said.replace("fails", "recipe")
    assert kind(judge(Trace.of(curve(last)), {}, beside(plain))) == said


@pytest.mark.parametrize(
    ("plain", "said"), [(-4.0, "recipe if confirmed, else cannot judge, rates"), (-2.1, "needs zeroed inputs")]
)
def test_below_zero_the_share_of_the_way_is_enough(plain: float, said: str) -> None:
    made = Trace.of(curve(-2.0, first=-1.0))
    assert kind(judge(made, {}, beside(plain))) == said


def test_a_loss_that_hardly_fell_may_move_by_itself() -> None:
    made = Trace.of(curve(1.9))
    assert kind(judge(made, {}, beside(0.5, untrained=2.5))) == "passes"
    assert kind(judge(made, {}, beside(0.5))) == "recipe"


def test_where_no_plain_recipe_runs_the_fall_decides() -> None:
    broken = dict.fromkeys((reference.label for reference in REFERENCES), Trace.of([math.nan]))
    assert kind(judge(known(curve(1.0)), {}, broken)) == "needs zeroed inputs"


def test_a_ratio_of_the_users_is_not_kept_by_the_first_loss_itself() -> None:
    assert not stop_when(Trace.of([2.0, 1.0, 1.0]), {"ratio": 0.9})
    assert stop_when(Trace.of([2.0, 1.0, 1.0, 1.0]), {"ratio": 0.9})


def test_a_divergence_that_outweighs_the_rest_fails_only_with_proof() -> None:
    made = Trace.of(curve(1.5, first=3.0))
    kl = LossCall("KL divergence", weight=1.0, complete=True, terms=1, samples=16, part=1.0)
    other = LossCall(
        "mse_loss", weight=1.0, complete=True, terms=160, samples=16, part=2.0, floor=0.0, chance=1.4, given_target=True
    )
    made.loss.calls = [kl, other]
    verdict = judge(made, {})
    assert kind(verdict) == "fails if confirmed, else cannot judge"
    assert isinstance(verdict, FailIfConfirmed)
    assert "without any KL term" in verdict.symptom.summary


# -- before any comparison ----------------------------------------------------------------------------------------


def test_without_a_step_nothing_is_judged() -> None:
    assert judge(Trace.of(), {}) == CouldNotJudge("no step was taken")


def test_a_loss_that_nobody_saw_is_not_judged() -> None:
    made = known(curve(0.01))
    made.loss_seen = False
    assert judge(made, {}) == CouldNotJudge(UNSEEN_LOSS)


def test_a_run_that_was_cut_short_is_not_judged_unless_the_promise_is_kept() -> None:
    made = known(curve(1.0))
    made.cut_short = "the budget is used up"
    verdict = judge(made, {})
    assert isinstance(verdict, CouldNotJudge)
    assert verdict.reason == "the budget is used up"
    assert verdict.figures["limit"] == pytest.approx(0.2)
    made.losses = curve(0.1)
    assert kind(judge(made, {})) == "passes"


@pytest.mark.parametrize(
    ("losses", "zero"), [([0.0] * 40, True), ([0.0] * 39 + [1e-9], False), ([0.0] * 39 + [-1e-9], False)]
)
def test_a_loss_of_zero_says_nothing(losses: list[float], zero: bool) -> None:
    verdict = judge(Trace.of(losses), {})
    assert (isinstance(verdict, CouldNotJudge) and verdict.reason == "the loss is 0 from the first step on") is zero


def test_a_choice_among_one_class_is_why_it_is_zero() -> None:
    made = Trace.of([0.0] * 40)
    made.loss.calls = [LossCall("cross_entropy", classes=1)]
    symptom = judge(made, {})
    assert isinstance(symptom, Symptom)
    assert (symptom.measured, symptom.limit, symptom.category) == (0.0, 0.0, "not-learning")


def adversaries(made: Trace) -> Trace:
    made.backwards = [2] * len(made.losses)
    for name in ("G", "D"):
        made.wiring.optimizers[name] = OptimizerRecord(name, "Adam", steps=len(made.losses))
    return made


def test_equal_targets_of_adversaries_are_no_reason_not_to_ask_them() -> None:
    assert kind(judge(adversaries(known(curve(0.9, 1.0), chance=0.0)), {})) == "needs only G learns"


def test_a_warm_up_comes_before_the_question_who_plays() -> None:
    made = adversaries(known(curve(1.0)))
    made.wiring.optimizers["G"].lr = {0: 0.1, 1: 0.2, 2: 0.4}
    verdict = judge(made, {})
    assert isinstance(verdict, CouldNotJudge)
    assert "warming up" in verdict.reason


def test_calls_that_ran_out_before_their_updates() -> None:
    made = known(curve(1.0, steps=160))
    made.updates = [1] * 9 + [0] * 151
    verdict = judge(made, {"steps": 10})
    assert isinstance(verdict, CouldNotJudge)
    assert "9 updates in 160 calls" in verdict.reason
    made.updates = [1] * 10 + [0] * 150
    assert kind(judge(made, {"steps": 10}, beside(0.0))) != "cannot judge"


# -- equal targets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "said"),
    [
        (Trace.of(curve(0.5, 1.0)), "passes"),
        (Trace.of(curve(0.05, 1.0)), "cannot judge"),  # as low without its inputs
        (Trace.of([1.0, math.nan]), "cannot judge"),
        (None, "needs zeroed inputs"),
    ],
)
def test_equal_targets_are_learnt_where_zeroed_inputs_do_worse(control: Trace | None, said: str) -> None:
    made = known(curve(0.05, 1.0), chance=0.0)
    controls = {} if control is None else {ZEROED_INPUTS.label: control}
    assert kind(judge(made, {}, controls)) == said


def test_a_control_that_could_not_be_made_shows_nothing() -> None:
    control = Trace.of(curve(0.5, 1.0))
    control.applied.without_effect = ["zeroed_inputs"]
    assert kind(judge(known(curve(0.05, 1.0), chance=0.0), {}, {ZEROED_INPUTS.label: control})) == "cannot judge"
    control = Trace.of(curve(0.5, 1.0))
    control.crash = Crash("ValueError", "", 1)
    assert kind(judge(known(curve(0.05, 1.0), chance=0.0), {}, {ZEROED_INPUTS.label: control})) == "cannot judge"


def test_equal_targets_of_a_loss_that_did_not_fall_to_a_tenth_are_judged_by_its_fall() -> None:
    made = known(curve(0.5, 1.0), chance=0.0)
    assert kind(judge(made, {}, beside(0.0))) == "needs zeroed inputs"
    assert kind(judge(made, {}, beside(0.0, zeroed=0.9))) == "fails if confirmed, else passes, rates"


# -- with a cure --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cure", "said"), [("matching_shapes", "passes"), ("", "model if confirmed, else cannot judge")]
)
def test_a_cured_loss_of_a_known_floor_is_judged_beside_the_run_without(cure: str, said: str) -> None:
    made = known(curve(0.8))
    made.applied.to_the_loss = cure
    assert kind(judge(made, {}, beside(0.79, **{UNTREATED: Trace.of(curve(2.0))}))) == said
    assert kind(judge(made, {}, beside(0.79))) == "model if confirmed, else cannot judge"


@pytest.mark.parametrize(
    ("cured", "uncured", "said"),
    [
        (0.97, 1.17, "passes"),
        (0.97, 1.15, "needs zeroed inputs"),  # noise may move a run that is slow by so much
        (0.99, 1.17, "recipe if confirmed, else cannot judge"),
    ],
)
def test_a_cure_that_brings_a_loss_without_a_known_least_to_what_a_plain_recipe_reaches(
    cured: float, uncured: float, said: str
) -> None:
    made = known(curve(cured), steady=False)
    assert kind(judge(made, {}, beside(0.8, **{UNTREATED: Trace.of(curve(uncured))}))) == said


# -- what the losses are given ------------------------------------------------------------------------------------


def test_labels_and_smoothing_are_judged_whatever_the_curve_does() -> None:
    made = known(curve(0.01))
    made.loss.calls[0].smoothing = 0.51
    symptom = judge(made, {})
    assert isinstance(symptom, Symptom)
    assert symptom.headline == "label smoothing leaves 49 % of each target to the right class"
    assert symptom.summary == f"{symptom.headline}, and spreads 51 % over all (0.05 to 0.2 is usual)"
    made.applied.to_the_loss = "less_smoothing"
    assert kind(judge(made, {})) == "passes"
    made = known(curve(0.01))
    made.loss.calls[0].smoothing = 0.49
    assert kind(judge(made, {})) == "passes"
    made.loss.calls[0].input = TensorSummary((8, 4))
    made.loss.calls[0].target = TensorSummary((8, 4), "float32", 0, 1, whole=True, row_sums=(0.0, 3.0))
    symptom = judge(made, {})
    assert isinstance(symptom, Symptom)
    assert symptom.summary == "cross_entropy is given rows of 0 to 3 labels (expected one each)"


def test_without_bound_in_either_direction_no_sign_is_right() -> None:
    made = Trace.of([-0.5 * step**2 for step in range(40)])
    made.applied.to_the_loss = "flipped_sign"
    assert kind(judge(made, {})) == "fails"
    made.applied.to_the_loss = ""
    assert kind(judge(made, {})) == "fails if confirmed, else passes"


def imitators() -> Trace:
    made = adversaries(Trace.of(curve(1.0)))
    made.loss.generator_ranges = [GeneratorRange(step, "critic", "sigmoid", outside=0.4) for step in (0, 1)]
    return made


def test_adversaries_are_judged_by_what_their_losses_are_given() -> None:
    symptom = judge(imitators(), {})
    assert isinstance(symptom, Symptom)
    assert symptom.summary.startswith("40 % of the data lie outside the range of sigmoid")
    made = imitators()
    made.backwards = [1] * 400
    assert not isinstance(judge(made, {}), Symptom)
    twice = adversaries(Trace.of(curve(1.0)))
    twice.loss.calls = [LossCall("cross_entropy", activation="softmax", over=5)]
    symptom = judge(twice, {})
    assert isinstance(symptom, Symptom)
    assert symptom.summary == "cross_entropy is given the output of softmax, and applies softmax itself"


@pytest.mark.parametrize(
    ("cure", "untreated", "said"),
    [("raw_scores", True, "passes"), ("", True, "needs only G learns"), ("raw_scores", False, "needs only G learns")],
)
def test_a_cure_of_what_adversaries_losses_are_given_is_judged_by_that(cure: str, untreated: bool, said: str) -> None:
    made = adversaries(Trace.of(curve(1.0)))
    made.applied.to_the_loss = cure
    assert kind(judge(made, {}, {UNTREATED: Trace.of(curve(1.0))} if untreated else {})) == said


@pytest.mark.parametrize(
    ("losses", "odd"),
    [
        (curve(0.1), True),  # kept, but
        (curve(1.0), False),  # not kept: the curve decides
        (curve(-2.0, first=-1.0), True),
        (curve(-2.0, first=0.0), True),
        (curve(-0.5, first=-1.0), False),
        (curve(1.0, first=0.0), False),
    ],
)
def test_a_loss_that_falls_as_it_should_on_odd_inputs_fails_only_with_proof(losses: list[float], odd: bool) -> None:
    made = Trace.of(losses)
    made.loss.calls = [LossCall("binary_cross_entropy", target=TensorSummary(high=2.0))]
    verdict = judge(made, {}, beside(1.0))
    assert (isinstance(verdict, FailIfConfirmed) and verdict.symptom.category == "silently-wrong") is odd
    if isinstance(verdict, FailIfConfirmed) and odd:
        assert verdict.symptom.limit == pytest.approx(0.1 * losses[0])
        assert isinstance(verdict.otherwise, Passed)
        assert "but binary_cross_entropy is given targets outside 0 to 1" in verdict.symptom.summary


def test_a_run_in_a_few_characters() -> None:
    assert result(Trace.of()) == "no step was possible"
    assert result(Trace.of([2.0, 1.0, math.nan])) == "2.000 -> nan"
    assert result(Trace.of([2.0, 9.0, 1.0, 0.5, 0.7])) == "2.000 -> 0.700"


@pytest.mark.parametrize(
    ("steps", "watched", "batches", "said"),
    [
        (100, True, [1] * 100, "model if confirmed, else cannot judge"),
        (200, True, [1] * 200, "model"),  # as many as a training that is handed in gets
        (100, True, [], "needs inputs noted"),  # without a loader: the loop's one batch
        (100, False, [1] * 100, "model"),
    ],
)
def test_a_few_batches_that_nobody_learns_from_in_a_watched_loop(
    steps: int, watched: bool, batches: list[int], said: str
) -> None:
    """Each is seen once, and a plain recipe gets no further than a guess either."""
    trace = replace(known(curve(1.9, steps=steps)), watched=watched)
    trace.speed.loader_batches += batches
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=steps)
    assert kind(judge(trace, {}, beside(1.9))) == said


@pytest.mark.parametrize(("last", "said"), [(0.66, "passes"), (0.68, "recipe if confirmed, else cannot judge")])
def test_a_healed_loss_is_shown_by_the_run_without_the_cure_where_dropout_keeps_it_up(last: float, said: str) -> None:
    """Scores that were squashed twice: a plain recipe, which has no dropout, gets further than any cured run."""
    twice = Trace.of(curve(1.0))
    twice.loss.calls = [LossCall("cross_entropy", activation="softmax", over=5, classes=5)]
    cured = known(curve(last))
    cured.applied.to_the_loss = "output_activation"
    assert kind(judge(cured, {}, beside(0.3, **{UNTREATED: twice}))) == said
