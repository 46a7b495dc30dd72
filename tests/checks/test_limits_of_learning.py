"""learns_from_data at its limits: each condition of its judgement, and each value just below and just above."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_trainhealth import diagnose
from pytest_trainhealth.analysis.misalignment import HELD_OUT
from pytest_trainhealth.analysis.reference_points import REFERENCES
from pytest_trainhealth.analysis.run_failures import UNSEEN_LOSS
from pytest_trainhealth.checks.learns_from_data import judge, max_steps, result, stop_when
from pytest_trainhealth.records.data import Alignment
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
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import FrozenChange, ModeRecord, OptimizerRecord, ParameterRecord

from .healthy_fits import heavy_dropout

CHANCE = 2.0


def curve(last: float, first: float = CHANCE, steps: int = 160) -> list[float]:
    """Down at once, and flat."""
    return [first, *[last] * (steps - 1)]


def known(losses: list[float], chance: float = CHANCE, floor: float = 0.0, steady: bool = True, **facts: Any) -> Trace:
    """Of a loss function whose floor and chance are known."""
    trace = Trace.of(losses)
    call = LossCall("cross_entropy", weight=1.0, sole=True, given_target=steady, floor=floor, chance=chance, **facts)
    trace.loss.calls = [call, replace(call, step=1)]
    return trace


def beside(plain: float | None, **others: Trace) -> dict[str, Trace]:
    made = Trace.of([math.nan]) if plain is None else Trace.of(curve(plain))
    return dict.fromkeys((reference.label for reference in REFERENCES), made) | others


def updating(trace: Trace, size: float) -> Trace:
    trace.wiring.parameters["w"] = ParameterRecord("w", (8, 8), 64, updates={0: size})
    return trace


def optimized(trace: Trace, **facts: Any) -> Trace:
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=len(trace.losses), **facts)
    return trace


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


def test_a_run_gets_twice_its_steps_with_four_calls_for_each() -> None:
    assert max_steps({}) == 640
    assert max_steps({"steps": 10}) == 80


@pytest.mark.parametrize(
    ("losses", "updates", "stops"),
    [
        (63, 0, False),
        (64, 0, True),
        (64, 1, False),
        (159, 159, False),
        (160, 160, True),
        (640, 159, False),
        (640, 160, True),
    ],
)
def test_when_a_loss_that_does_not_fall_has_had_its_time(losses: int, updates: int, stops: bool) -> None:
    trace = Trace.of([2.0] * losses)
    trace.updates = [1] * updates + [0] * (losses - updates)
    trace.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=updates)
    assert stop_when(trace, {}) is stops


@pytest.mark.parametrize(("losses", "stops"), [(64, False), (159, False), (160, True)])
def test_a_loop_that_updates_by_hand_gets_the_time_of_any_other(losses: int, stops: bool) -> None:
    trace = Trace.of([2.0] * losses)
    trace.updates = [0] * losses
    assert stop_when(trace, {}) is stops


@pytest.mark.parametrize(
    ("steps", "last", "stops"),
    [
        (79, 0.9, False),
        (80, 0.9, True),
        (80, 1.1, False),
        (81, 0.9, False),
        (89, 0.9, False),
        (90, 0.9, True),
        (90, 1.1, False),
    ],
)
def test_half_of_the_way_is_enough_when_it_is_asked(steps: int, last: float, stops: bool) -> None:
    assert stop_when(Trace.of(curve(last, steps=steps)), {}) is stops


def test_what_shows_only_later_gets_the_whole_time() -> None:
    made = Trace.of(curve(0.9, steps=80))
    assert stop_when(made, {})
    made.cured = True
    assert not stop_when(made, {})
    assert not stop_when(optimized(Trace.of(curve(0.9, steps=80)), rates=[1.0, 0.1]), {})
    for share, stops in ((0.5, False), (0.49, True)):
        made = Trace.of(curve(0.9, steps=80))
        made.numbers.activations["tanh"] = ActivationRecord("tanh", "body", 8, saturated={0: share, 1: 0.9})
        assert stop_when(made, {}) is stops


@pytest.mark.parametrize(
    ("losses", "stops"),
    [
        (curve(0.19, steps=50), True),
        (curve(0.21, steps=50), False),
        (curve(0.19, steps=49), False),
        (curve(0.19, steps=40), False),
        (curve(0.19, steps=60), True),
        ([*curve(0.19, steps=41), 0.3, *[0.19] * 8], False),  # the worst of ten
        ([*curve(0.19, steps=39), 0.3, *[0.19] * 10], True),
        ([-1.0] * 50, False),
        (curve(0.04, first=0.5, steps=50), True),
    ],
)
def test_a_tenth_at_ten_losses_in_a_row_is_learnt(losses: list[float], stops: bool) -> None:
    assert stop_when(Trace.of(losses), {}) is stops


def test_a_tenth_is_that_of_a_guess_where_the_start_was_worse() -> None:
    assert stop_when(Trace.of(curve(0.9, first=10.0, steps=50)), {})
    assert not stop_when(known(curve(0.9, first=10.0, steps=50)), {})
    assert stop_when(known(curve(0.19, first=10.0, steps=50)), {})


def test_an_order_that_is_compared_takes_all_the_steps() -> None:
    made = Trace.of(curve(0.1, steps=50))
    made.data.alignment = Alignment(256, "classes", 0.1, 0.1, 0.1)
    assert not stop_when(made, {})


# -- what comes first ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "said"), [(19, "cannot judge"), (20, "passes")])
def test_fewer_than_twenty_steps_show_no_course(steps: int, said: str) -> None:
    made = known(curve(0.5, steps=steps))
    verdict = judge(made, {})
    assert kind(verdict) == said
    if isinstance(verdict, CouldNotJudge):
        assert verdict.reason == "19 steps: too few to see it learn; give more steps="
        made.cut_short = "the budget is used up"
        assert judge(made, {}).reason == "the budget is used up"  # type: ignore[union-attr]


def test_no_step_at_all() -> None:
    made = Trace.of()
    assert judge(made, {}) == CouldNotJudge("no step was taken")
    made.cut_short = "the budget is used up"
    assert judge(made, {}) == CouldNotJudge("the budget is used up")


def test_without_an_update_it_learns_only_by_hand() -> None:
    made = known(curve(0.5))
    made.updates = [0] * 160
    assert kind(judge(made, {})) == "passes", "nobody knows what its parameters are"
    made.wiring.parameters["w"] = ParameterRecord("w", moved=False)
    symptom = judge(made, {})
    assert isinstance(symptom, Symptom)
    assert symptom.summary == "no optimizer step in 160 steps: loss 2.000 -> 0.500"
    assert (symptom.measured, symptom.limit) == (0.0, 1.0)
    made.wiring.trains_unknown = True
    assert kind(judge(made, {})) == "passes", "what else it trains may have moved"
    made.wiring.trains_unknown = False
    made.wiring.parameters["w"].moved = True
    assert kind(judge(made, {})) == "passes"


def test_a_loss_that_nobody_saw_is_not_judged() -> None:
    made = known(curve(0.5))
    made.loss_seen = False
    assert judge(made, {}) == CouldNotJudge(UNSEEN_LOSS)
    made.cut_short = "the budget is used up"
    assert judge(made, {}) == CouldNotJudge("the budget is used up")


@pytest.mark.parametrize(("step", "fails"), [(55, True), (56, False)])
def test_what_begins_later_than_a_closer_look_is_not_told(step: int, fails: bool) -> None:
    made = known(curve(0.5))
    made.wiring.frozen_changes["w"] = FrozenChange("w", "SGD", [step, step + 1])
    assert isinstance(judge(made, {}), Symptom) is fails
    assert kind(judge(known(curve(0.5)), {}, {UNTREATED: made})) == ("passes" if fails else "fails")


def test_a_cure_of_what_is_wrong_silently_is_judged_by_that() -> None:
    uncured = known(curve(0.5))
    uncured.wiring.modes["m"] = ModeRecord("m", [], [0, 1], {"d": "Dropout"})
    assert kind(judge(known(curve(1.9)), {}, {UNTREATED: uncured})) == "passes"


# -- adversaries and warm-ups -------------------------------------------------------------------------------------


def players(made: Trace) -> Trace:
    made.backwards = [2] * len(made.losses)
    for name in ("G", "D"):
        made.wiring.optimizers[name] = OptimizerRecord(name, "Adam", steps=len(made.losses))
    return made


@pytest.mark.parametrize(("last", "said"), [(0.99, "passes"), (1.01, "needs only G learns")])
def test_adversaries_that_fell_half_of_their_way_have_learnt(last: float, said: str) -> None:
    assert kind(judge(players(known(curve(last))), {})) == said
    assert kind(judge(players(Trace.of(curve(last))), {})) == "needs only G learns"


@pytest.mark.parametrize(("last", "said"), [(0.99, "passes"), (1.01, "cannot judge")])
def test_a_warm_up_that_came_half_of_its_way_has_learnt(last: float, said: str) -> None:
    made = optimized(known(curve(last)), lr={0: 0.1, 1: 0.2, 2: 0.4})
    assert kind(judge(made, {}, beside(0.9))) == said


def test_a_rate_that_runs_away_is_no_warm_up() -> None:
    made = optimized(known(curve(1.5)), lr={0: 0.1, 1: 0.2, 2: 0.4}, rates=[0.01] * 80 + [0.1] * 80, initial_lr=0.01)
    assert kind(judge(made, {}, beside(1.4))) == "fails if confirmed, else passes, rates"


def test_of_adversaries_that_have_learnt_nothing_else_is_asked() -> None:
    made = players(known(curve(0.99)))
    made.wiring.optimizers["G"].rates = [0.1] * 40 + [0.0] * 120
    assert kind(judge(made, {})) == "passes"


# -- is it shown that it learns? ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "plain", "said"),
    [
        (0.99, 0.0, "passes"),  # half of the way
        (1.01, 0.0, "recipe if confirmed, else passes"),
        (1.79, 0.0, "recipe if confirmed, else passes"),
        (1.81, 0.0, "recipe"),  # a guess, where a plain recipe learns
        (1.1, 0.6, "passes"),  # the plain one is not even twice as good
        (1.1, 0.5, "recipe if confirmed, else passes"),
        (1.5, 1.45, "passes"),
        (1.81, 1.8, "model if confirmed, else cannot judge"),
        (2.6, 0.0, "recipe"),
    ],
)
def test_where_a_loss_ends_between_its_floor_and_a_guess(last: float, plain: float, said: str) -> None:
    assert kind(judge(known(curve(last)), {}, beside(plain))) == said


@pytest.mark.parametrize(
    ("last", "plain", "said"),
    [
        (2.4, 2.3, "passes"),
        (1.99, 1.0, "passes"),
        (2.9, 2.89, "model if confirmed, else cannot judge"),
        (2.9, 1.0, "recipe"),
        (2.4, 1.69, "recipe if confirmed, else passes"),
        (2.4, 1.72, "passes"),
    ],
)
def test_all_of_it_is_counted_from_the_floor(last: float, plain: float, said: str) -> None:
    """A floor of 1 and a guess of 3 leave a way of 2."""
    assert kind(judge(known(curve(last, first=3.0), chance=3.0, floor=1.0), {}, beside(plain))) == said


def test_a_guess_that_is_left_at_the_end_is_no_fault_yet() -> None:
    falling = [2.0] * 120 + [1.9] * 20 + [1.6] * 20
    assert kind(judge(known(falling), {}, beside(0.0))) == "recipe if confirmed, else cannot judge, rates"
    assert (
        kind(judge(known(curve(1.9), steady=False), {}, beside(0.0))) == "recipe if confirmed, else cannot judge, rates"
    )


def test_nothing_learnt_yet_is_told_apart_from_nothing_to_learn() -> None:
    verdict = judge(known(curve(1.9)), {}, beside(1.89))
    assert isinstance(verdict, FailIfConfirmed)
    assert "learns nothing either (1.890), as with random labels" in verdict.otherwise.reason  # type: ignore[union-attr]
    verdict = judge(known(curve(1.9)), {}, beside(1.2))
    assert isinstance(verdict, FailIfConfirmed)
    assert "hardly anything was learnt yet, and a plain recipe gets to 1.200" in verdict.otherwise.reason  # type: ignore[union-attr]


@pytest.mark.parametrize(("last", "said"), [(1.89, "passes"), (1.91, "fails if confirmed, else cannot judge")])
def test_without_a_known_floor_a_fall_by_a_twentieth_is_learning(last: float, said: str) -> None:
    verdict = kind(judge(Trace.of(curve(last)), {}, beside(1.9)))
    assert verdict == said.replace("fails", "model")


@pytest.mark.parametrize(("size", "creeps"), [(1e-4, True), (1.1e-4, False), (0.0, False)])
def test_a_small_fall_by_tiny_steps_is_a_creep(size: float, creeps: bool) -> None:
    made = updating(Trace.of(curve(1.7)), size)
    assert kind(judge(made, {}, beside(1.69))) == ("fails if confirmed, else passes, rates" if creeps else "passes")
    assert kind(judge(made, {})) == (f"needs {REFERENCES[0].label}" if creeps else "passes")


def test_the_plain_recipe_is_asked_for_once() -> None:
    assert judge(known(curve(1.5)), {}) == NeedsControl(REFERENCES[0], once=True)
    good, poor = ({REFERENCES[0].label: Trace.of(curve(level))} for level in (0.59, 0.61))
    assert not isinstance(judge(known(curve(1.5)), {}, good), NeedsControl)
    assert judge(known(curve(1.5)), {}, poor) == NeedsControl(REFERENCES[1], once=True)
    verdict = judge(known(curve(1.5)), {}, beside(None))
    assert isinstance(verdict, CouldNotJudge)
    assert verdict.reason == "loss 2.000 -> 1.500, and no plain recipe could be tried"


def test_a_plain_recipe_is_good_enough_seven_tenths_of_the_way_down() -> None:
    for level, enough in ((1.59, True), (1.61, False)):
        made = known(curve(2.5, first=3.0), chance=3.0, floor=1.0)
        asked = judge(made, {}, {REFERENCES[0].label: Trace.of(curve(level))})
        assert isinstance(asked, NeedsControl) is not enough


def test_below_zero_a_plain_recipe_has_to_be_better_by_three_tenths_of_the_way() -> None:
    assert kind(judge(Trace.of(curve(-1.04, first=-1.0)), {}, beside(-1.05))).startswith("model if confirmed")
    assert kind(judge(Trace.of(curve(-1.04, first=-1.0)), {}, beside(-1.09))).startswith("recipe if confirmed")


def test_what_was_cut_short_is_not_judged_unless_it_has_learnt() -> None:
    made = known(curve(1.5))
    made.cut_short = "the budget is used up"
    assert judge(made, {}).reason == "the budget is used up"  # type: ignore[union-attr]
    made = known(curve(0.5))
    made.cut_short = "the budget is used up"
    assert kind(judge(made, {})) == "passes"


def test_what_may_be_learnt_by_heart_has_to_carry_over() -> None:
    made = known(curve(1.5))
    made.data.alignment = Alignment(256, "classes", 0.1, 0.1, 0.1, at_chance=True)
    assert kind(judge(made, {}, beside(1.4))) == f"needs {HELD_OUT.label}"
    guess = known(curve(1.9))
    guess.data.alignment = made.data.alignment
    assert kind(judge(guess, {}, beside(1.89))) == "model if confirmed, else cannot judge"


def test_what_a_plain_recipe_learnt_by_heart_is_no_measure() -> None:
    """Labels of other samples: a higher rate memorises them, and the user's rate is not to blame."""
    made, unseen = known(curve(1.9)), Trace.of([1.0, 2.1] * 8)
    made.data.alignment = Alignment(256, "classes", 0.1, 0.12, 0.12, at_chance=True)
    unseen.applied.held_out = list(range(1, 16, 2))
    assert kind(judge(made, {}, beside(0.2))) == f"needs {HELD_OUT.label}"
    assert kind(judge(made, {}, beside(0.2, **{HELD_OUT.label: unseen}))) == "recipe if confirmed, else cannot judge"
    unseen.losses = [1.0, 1.1] * 8  # it holds for batches that it has not seen
    assert kind(judge(made, {}, beside(0.2, **{HELD_OUT.label: unseen}))) == "recipe"


def test_a_value_that_a_loss_cannot_have_is_a_fault_however_far_it_falls() -> None:
    made = known(curve(-900.0))
    made.loss.calls = [replace(call, function="nll_loss", value=-0.5) for call in made.loss.calls]
    assert kind(judge(made, {})) == "fails"
    healed = known(curve(0.1))
    assert kind(judge(healed, {}, {UNTREATED: made})) == "passes"


# -- what is odd about it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "size", "odd"),
    [
        (1.1, 0.05, True),
        (1.1, 0.049, False),
        (0.99, 0.05, False),  # fell clearly
        (1.1, 1e-4, True),
        (1.1, 2e-4, False),
        (1.1, 0.0, False),
        (2.5, 1e-3, True),  # grows
    ],
)
def test_steps_out_of_size_are_odd_where_the_loss_did_not_fall_clearly(last: float, size: float, odd: bool) -> None:
    verdict = judge(updating(known(curve(last)), size), {}, beside(1.05 if last < 2 else 2.4))
    assert (isinstance(verdict, FailIfConfirmed) and verdict.rates) is odd


def test_a_course_is_odd_until_all_is_learnt() -> None:
    gone = [0.1] * 80 + [0.0] * 80
    assert kind(judge(optimized(known(curve(0.21)), rates=gone), {})) == "fails if confirmed, else passes, rates"
    assert kind(judge(optimized(known(curve(0.19)), rates=gone), {})) == "passes"
    assert (
        kind(judge(optimized(known(curve(0.21)), settings={"eps": 0.1}), {}))
        == "fails if confirmed, else passes, rates"
    )
    assert kind(judge(optimized(known(curve(0.19)), settings={"eps": 0.1}), {})) == "passes"
    assert (
        kind(judge(optimized(known(curve(0.19)), settings={"momentum": 0.999}), {}))
        == "fails if confirmed, else passes, rates"
    )


def test_few_updates_make_no_curve() -> None:
    made = optimized(known(curve(0.9)), rates=[0.1] * 40 + [0.0] * 40)
    assert kind(judge(made, {})) == "fails if confirmed, else passes, rates"
    made.updates = [1] * 79 + [0] * 81
    assert kind(judge(made, {})) == "passes"
    made.updates = [1] * 80 + [0] * 80
    assert kind(judge(made, {})) == "fails if confirmed, else passes, rates"


@pytest.mark.parametrize(("last", "said"), [(1.1, "cannot judge"), (0.9, "passes")])
def test_calls_that_ran_out_before_their_updates(last: float, said: str) -> None:
    made = known(curve(last, steps=640))
    made.updates = [1] * 79 + [0] * 561
    assert kind(judge(made, {}, beside(1.0))) == said


def saturated(made: Trace, share: float = 0.5) -> Trace:
    made.numbers.activations["tanh"] = ActivationRecord("tanh", "body", 8, saturated={0: share})
    return made


@pytest.mark.parametrize(
    ("last", "share", "odd"),
    [(1.1, 0.5, True), (1.1, 0.49, False), (1.39, 0.5, True), (1.41, 0.5, False), (0.99, 0.5, False)],
)
def test_units_at_their_ends_are_odd_where_the_layers_after_them_learn_and_lag(
    last: float, share: float, odd: bool
) -> None:
    verdict = judge(saturated(known(curve(last)), share), {}, beside(last - 0.01))
    assert (isinstance(verdict, FailIfConfirmed) and verdict.rates) is odd


# -- far above a guess --------------------------------------------------------------------------------------------

TEN = {"classes": 10, "target": TensorSummary(dtype="int64")}
GUESS = math.log(10)


@pytest.mark.parametrize(("last", "worse"), [(2.1, True), (1.9, False)])
def test_a_loss_that_stays_far_above_a_guess(last: float, worse: bool) -> None:
    verdict = judge(known(curve(last * GUESS, first=50.0), chance=GUESS, **TEN), {}, beside(0.0))
    said = (
        isinstance(verdict, FailIfConfirmed)
        and "the same guess for every sample would give 2.303" in verdict.symptom.summary
    )
    assert said is worse
    if isinstance(verdict, FailIfConfirmed) and worse:
        assert verdict.rates
        assert verdict.symptom.limit == pytest.approx(GUESS)


def test_a_dead_layer_of_a_training_that_goes_well_is_told() -> None:
    dead = ActivationRecord("relu", "act", 4, dead={0: 1.0, 1: 1.0, 2: 1.0, 4: 1.0}, is_module=True)
    made = known(curve(0.5))
    made.numbers.activations["relu"] = dead
    assert kind(judge(made, {})) == "fails"
    assert kind(judge(known(curve(0.5)), {}, {UNTREATED: made})) == "passes"
    assert kind(judge(made, {}, {UNTREATED: made})) == "fails"
    for facts in (
        {"units": 3},
        {"dead": {0: 1.0, 1: 1.0, 2: 1.0}},
        {"dead": {**dead.dead, 4: 0.9}},
        {"is_module": False},
    ):
        made.numbers.activations["relu"] = replace(dead, **facts)
        assert kind(judge(made, {})) == "passes"
    stuck = known(curve(1.9))
    stuck.numbers.activations["relu"] = dead
    assert kind(judge(known(curve(1.9)), {}, {UNTREATED: stuck})) == "fails"
    assert kind(judge(stuck, {}, beside(1.89))) == "model if confirmed, else cannot judge"


# -- with a cure --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "plain", "said"),
    [
        (0.95, 0.0, "passes"),  # half of the way
        (1.01, 0.0, "fails"),  # a plain recipe does far better
        (1.01, 0.6, "passes"),
        (1.01, 0.5, "fails"),
        (1.3, 1.3, "fails"),  # not half of the level without
        (1.01, None, "passes"),
    ],
)
def test_a_cure_has_to_come_about_as_far_as_a_plain_recipe(last: float, plain: float | None, said: str) -> None:
    uncured = known(curve(2.5))
    assert kind(judge(known(curve(last)), {}, beside(plain, **{UNTREATED: uncured}))) == said


def test_a_cure_is_compared_with_a_plain_recipe_only_where_it_lags() -> None:
    uncured = known(curve(2.5))
    assert kind(judge(known(curve(1.01)), {}, {UNTREATED: uncured})) == f"needs {REFERENCES[0].label}"
    assert kind(judge(Trace.of(curve(1.01)), {}, {UNTREATED: uncured})) == "passes"
    smaller = known(curve(1.01))
    smaller.applied.smaller_steps_from = 80
    assert kind(judge(smaller, {}, {UNTREATED: known(curve(9.0))})) == "passes"


@pytest.mark.parametrize(("before", "said"), [(0.99, "fails"), (1.01, "passes")])
def test_without_dropout_every_loss_is_lower_and_no_cure_where_it_has_learnt(before: float, said: str) -> None:
    whole = known(curve(0.1))
    assert kind(judge(whole, {}, {UNTREATED: known(curve(before))})) == "passes"
    whole.applied.without_dropout = True
    assert kind(judge(whole, {}, {UNTREATED: known(curve(before))})) == said


@pytest.mark.parametrize("seed", range(8))
def test_heavy_dropout_that_learns_is_no_fault(seed: int) -> None:
    (verdict,) = diagnose(heavy_dropout, checks="learns_from_data", seed=seed).verdicts
    assert verdict.passed, str(verdict)


def test_a_start_that_is_calmer_counts_only_where_the_rest_went_well() -> None:
    late = known([50.0] * 30 + [0.5] * 130, chance=GUESS, **TEN)
    calm = known(curve(0.5), chance=GUESS, **TEN)
    assert kind(judge(late, {})) == "fails if confirmed, else passes"
    assert kind(judge(calm, {}, {UNTREATED: late})) == "passes"
    symptom = judge(late, {}, {UNTREATED: late})
    assert isinstance(symptom, Symptom)
    assert symptom.summary.startswith(
        "the first loss is 50.000, 22 times that of a guess (2.303), and it takes 30 steps"
    )
    stuck = known([50.0] * 30 + [2.0] * 130, chance=GUESS, **TEN)
    assert kind(judge(known(curve(1.2), chance=GUESS, **TEN), {}, {UNTREATED: stuck})) == "fails"


# -- in words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "category", "headline"),
    [
        (2.41, "instability", "loss grows from 2.000 -> 2.410"),
        (2.39, "not-learning", "loss stuck at 2.390"),
        (1.39, "plateau", "loss stops at 1.390"),
        (1.41, "not-learning", "loss stuck at 1.410"),
    ],
)
def test_what_the_curve_looks_like(last: float, category: str, headline: str) -> None:
    symptom = judge(Trace.of(curve(last)), {}, {UNTREATED: Trace.of(curve(last))})
    assert isinstance(symptom, Symptom)
    assert (symptom.category, symptom.headline) == (category, headline)
    assert symptom.limit == pytest.approx(0.2)
    assert symptom.summary == f"loss 2.000 -> {last:.3f} in 160 steps through the data"


def test_a_run_in_a_few_characters() -> None:
    assert result(Trace.of()) == "no step was possible"
    assert result(Trace.of([2.0, 1.0, math.nan])) == "2.000 -> nan"
    assert result(Trace.of(curve(0.5))) == "2.000 -> 0.500"
