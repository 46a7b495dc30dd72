"""A loss whose floor is not known, beside runs that cannot learn: each limit from both sides."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_trainhealth.analysis.reference_points import (
    REFERENCES,
    Points,
    Reach,
    above_reach,
    missing_reference,
    points,
    reach,
)
from pytest_trainhealth.analysis.without_a_floor import (
    UNTRAINED,
    ZEROED_INPUTS,
    by_its_fall,
    control_level,
    healed,
    without_a_fall,
)
from pytest_trainhealth.records.judgement import (
    UNTREATED,
    CouldNotJudge,
    FailIfConfirmed,
    Judgement,
    NeedsControl,
    Passed,
)
from pytest_trainhealth.records.losses import LossCall, Similarity, TensorSummary
from pytest_trainhealth.records.numbers import Crash
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom
from pytest_trainhealth.records.wiring import OptimizerRecord, ParameterRecord


def curve(last: float, first: float = 2.0, steps: int = 200) -> Trace:
    return Trace.of([first, *[last] * (steps - 1)])


def creep(last: float) -> Trace:
    return Trace.of([2.0 + (last - 2.0) * step / 199 for step in range(200)])


def kind(judgement: Judgement) -> str:
    if isinstance(judgement, FailIfConfirmed):
        return f"fails if confirmed, else {kind(judgement.otherwise)}{', rates' * judgement.rates}"
    if isinstance(judgement, NeedsControl):
        return f"needs {judgement.control.label}"
    return {Passed: "passes", CouldNotJudge: "cannot judge", Symptom: "fails"}[type(judgement)]


def judged(trace: Trace, zeroed: Trace | float | None = None, reached: float | None = None, **others: Trace) -> str:
    controls = {UNTRAINED.label: curve(trace.losses[0], trace.losses[0]), **others}
    if zeroed is not None:
        controls[ZEROED_INPUTS.label] = zeroed if isinstance(zeroed, Trace) else curve(zeroed, trace.losses[0])
    return kind(by_its_fall(trace, controls, 0.1, {} if reached is None else {"reach": reached}))


LEARNT, DOUBT = "fails if confirmed, else passes, rates", "fails if confirmed, else cannot judge, rates"


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (curve(1.89), "needs zeroed inputs"),  # a fall by a twentieth is worth a control
        (curve(1.91), "fails"),
        (curve(-1.01, first=-1.0), "needs zeroed inputs"),  # below 0 any fall is
        (curve(-0.01, first=0.0), "needs zeroed inputs"),
        (creep(1.7), "fails"),  # a creep
        (creep(1.5), "needs zeroed inputs"),
        (Trace.of([2.0] + [1.9, 1.6] * 100), "fails"),  # within its noise
        (Trace.of([2.0] + [1.8, 1.62] * 100), "needs zeroed inputs"),
    ],
)
def test_a_fall_that_is_worth_a_control(trace: Trace, said: str) -> None:
    assert judged(trace) == said


@pytest.mark.parametrize(
    ("last", "zeroed", "said"),
    [
        (1.0, 1.11, LEARNT),  # better than zeroed inputs by a tenth of the fall
        (1.0, 1.09, DOUBT),
        (1.0, 0.91, DOUBT),
        (1.0, 0.89, LEARNT),  # better without inputs: the targets are made of them
        (1.7, 1.72, "fails"),  # a small fall beside a control that does as well
        (1.7, 1.74, LEARNT),
        (1.7, 1.66, "fails"),
        (1.59, 1.5, LEARNT),
        (1.61, 1.5, "fails"),
        (0.59, 1.9, "passes"),  # three tenths: nearly all was memorised
        (0.61, 1.9, LEARNT),
    ],
)
def test_beside_zeroed_inputs(last: float, zeroed: float, said: str) -> None:
    assert judged(curve(last), zeroed) == said


def test_a_control_that_could_not_run_leaves_the_fall() -> None:
    for spoil in ({"crash": Crash("ValueError", "", 0)}, {"losses": []}, {"losses": [math.nan]}):
        control = replace(curve(1.9), **spoil)  # type: ignore[arg-type]
        assert control_level(control) is None
        assert judged(curve(1.0), control) == LEARNT
        assert judged(curve(1.7), control) == "fails"
    control = curve(1.9)
    assert control_level(control) == 1.9
    control.applied.without_effect = ["zeroed_inputs"]
    assert control_level(control) is None


def test_nearly_all_is_not_enough_where_something_keeps_the_loss_up() -> None:
    made = curve(0.5)
    assert judged(made, 1.9) == "passes"
    made.loss.calls = [LossCall("mse_loss", unreachable=0.5)]
    assert judged(made, 1.9) == LEARNT
    made = curve(0.5)
    made.wiring.parameters = {
        str(n): ParameterRecord(str(n), shape, 9, module_class="Linear")
        for n, shape in enumerate([(8, 4), (1, 8), (3, 1)])
    }
    assert judged(made, 1.9) == LEARNT
    assert judged(made, 1.9, **{UNTREATED: curve(1.5)}) == "passes"
    assert judged(curve(0.5), 1.9, **{UNTREATED: curve(1.1)}) == "passes"
    assert judged(curve(0.5), 1.9, **{UNTREATED: curve(0.9)}) == LEARNT


def test_as_far_as_a_plain_recipe_but_no_further_than_without_inputs() -> None:
    assert judged(curve(1.7), 1.7) == "fails"
    assert judged(curve(1.7), 1.7, reached=1.7) == "fails if confirmed, else cannot judge"
    assert judged(creep(1.7), 1.7, reached=1.7) == "fails"


def test_what_fell_below_a_tenth_and_is_no_better_than_a_guess() -> None:
    assert judged(curve(0.1)) == "fails if confirmed, else cannot judge"


def test_a_cure_of_the_loss_is_judged_beside_the_run_without() -> None:
    cured = curve(0.9)
    cured.applied.to_the_loss = "matching_shapes"
    assert judged(cured, 1.9, **{UNTREATED: curve(1.95)}) == "passes"
    assert judged(cured, 1.0, **{UNTREATED: curve(1.95)}) == DOUBT
    assert judged(cured, 0.5, **{UNTREATED: curve(1.95)}) == LEARNT, "no control, no proof"


# -- healed -------------------------------------------------------------------------------------------------------


def heals(last: float, uncured: Trace | None, cure: str = "a cure") -> bool:
    trace = curve(last)
    trace.applied.to_the_loss = cure
    return healed(trace, uncured, last)


def squashed(last: float) -> Trace:
    made = curve(last)
    made.loss.calls = [LossCall("cross_entropy", activation="softmax", over=5)]
    return made


def test_half_of_a_loss_that_stood_still_is_healed() -> None:
    assert heals(0.95, curve(1.91))
    assert not heals(0.97, curve(1.91))
    assert not heals(0.9, curve(1.89)), "it fell"
    assert not heals(0.9, curve(1.95), cure="")
    assert not heals(0.9, None)
    assert not heals(0.9, Trace.of([]))
    assert not heals(0.9, Trace.of([2.0, math.nan]))
    assert not heals(-9.0, curve(0.0, first=0.0))


def test_beside_a_plain_fault_two_thirds_are_enough() -> None:
    assert heals(0.66, squashed(1.0))
    assert not heals(0.68, squashed(1.0))


def test_a_loss_of_the_wrong_sign_has_no_level() -> None:
    wrong = curve(-5.0, first=-1.0)
    wrong.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=9)
    assert not heals(3.0, wrong)
    wrong.loss.similarities = [Similarity("overlap", rises=True)]
    assert heals(3.0, wrong)
    wrong.loss.similarities = []
    wrong.loss.calls = [
        LossCall("KL divergence", weight=-1.0, complete=True, terms=1),
        LossCall("mse_loss", weight=1.0, complete=True, terms=1),
    ]
    assert heals(3.0, wrong)
    climbing = curve(1.95)
    climbing.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=9, maximize=True)
    assert not heals(0.5, climbing)


# -- without a fall -----------------------------------------------------------------------------------------------

SYMPTOM = Symptom("stuck", "not-learning", 2.0, 0.2)


@pytest.mark.parametrize(
    ("untrained", "last", "said"),
    [
        (curve(2.21), 2.0, "passes"),
        (curve(2.19), 1.9, "fails"),  # does not move by itself
        (curve(2.3), 2.1, "fails"),  # a tenth of the last loss better
        (curve(2.3), 2.08, "passes"),
        (replace(curve(2.5), crash=Crash("ValueError", "", 0)), 2.0, "fails"),
        (Trace.of([]), 2.0, "fails"),
        (Trace.of([2.0, math.nan]), 2.0, "fails"),
        (curve(-0.8, first=-1.0), -1.0, "passes"),
        (None, 2.0, "needs no learning"),
    ],
)
def test_a_loss_that_moves_by_itself(untrained: Trace | None, last: float, said: str) -> None:
    controls = {} if untrained is None else {UNTRAINED.label: untrained}
    assert kind(without_a_fall(curve(last), controls, SYMPTOM, {})) == said


@pytest.mark.parametrize(("last", "maximize", "climbs"), [(2.1, True, True), (1.9, True, False), (2.1, False, False)])
def test_what_climbs_may_be_meant_to_rise(last: float, maximize: bool, climbs: bool) -> None:
    made = curve(last)
    made.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", steps=9, maximize=maximize)
    said = kind(without_a_fall(made, {}, SYMPTOM, {}))
    assert said == ("fails if confirmed, else cannot judge" if climbs else "needs no learning")


# -- floor, chance and reach --------------------------------------------------------------------------------------

CALL = LossCall("cross_entropy", weight=1.0, sole=True, given_target=True, floor=0.5, chance=2.0)


def of(*calls: LossCall, losses: tuple[float, ...] = (3.0, 3.0)) -> Points:
    made = Trace.of(losses)
    made.loss.calls = list(calls)
    return points(made)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({}, Points(0.5, 2.0, True)),
        ({"weight": 2.0}, Points(1.0, 4.0, True)),
        ({"reduction": "sum", "terms": 4}, Points(2.0, 8.0, True)),
        ({"given_target": False}, Points(0.5, 2.0, False)),
        ({"chance": None}, Points(0.5, None, True)),
        ({"floor": None}, Points()),
        ({"weight": None}, Points()),
        ({"weight": -1.0}, Points()),
        ({"weight": 0.0}, Points()),
        ({"sole": False}, Points()),
        ({"sole": False, "complete": True}, Points(0.5, 2.0, True)),
        ({"part": 1.5}, Points(1.0, 4.0, True)),  # half of what is returned
        ({"part": -1.5}, Points(0.5, 2.0, True)),
        ({"part": 0.0}, Points(0.5, 2.0, True)),
    ],
)
def test_the_points_of_one_call(facts: dict[str, Any], found: Points) -> None:
    assert of(replace(CALL, **facts)) == found


def test_the_points_of_several_calls() -> None:
    both = replace(CALL, sole=False, complete=True)
    assert of(both, replace(both, floor=0.25, chance=1.0)) == Points(0.75, 3.0, True)
    assert of(both, replace(both, chance=None)) == Points(1.0, None, True)
    assert of(both, replace(both, complete=False)) == Points()
    assert of(CALL, replace(CALL, weight=None, given_target=False)) == Points(0.5, 2.0, True)
    assert of(CALL, replace(CALL, step=1, floor=1.5, chance=4.0)) == Points(1.0, 3.0, True)
    assert of(CALL, replace(CALL, step=1, chance=None)) == Points(1.0 / 2, None, True)
    assert of(CALL, replace(CALL, step=1, floor=None)) == Points()
    assert of(CALL, replace(CALL, step=1), replace(CALL, step=2, floor=9.0)) == Points(0.5, 2.0, True)
    assert of() == Points()
    assert of(replace(CALL, part=1.5), losses=(-3.0,)) == Points(0.5, 2.0, True)
    assert of(replace(CALL, part=1.5), losses=()) == Points(0.5, 2.0, True)


def test_of_single_samples_a_guess_is_one_among_the_classes() -> None:
    made = Trace.of([3.0, 3.0])
    made.batch_size = 1
    made.loss.calls = [replace(CALL, classes=10, target=TensorSummary(dtype="int64"))]
    assert points(made).chance == pytest.approx(math.log(10))
    made.loss.calls = [CALL]
    assert points(made) == Points(0.5, None, True)


def test_with_a_penalty_the_calls_need_not_add_up() -> None:
    made = Trace.of([3.0, 3.0])
    made.loss.calls = [replace(CALL, sole=False, part=1.5)]
    assert points(made) == Points()
    made.numbers.penalties = [Place("train.py", 1)]
    assert points(made) == Points(0.5, 2.0, True)


@pytest.mark.parametrize(
    ("points", "nothing", "known"),
    [
        (Points(1.0, 1.0), True, True),
        (Points(1.0, 1.0 + 1e-7), True, True),
        (Points(1.0, 1.0 + 1e-5), False, True),
        (Points(100.0, 100.0 + 5e-5), True, True),
        (Points(100.0, 100.0 + 2e-4), False, True),
        (Points(1.0, None), False, False),
        (Points(None, 1.0), False, False),
    ],
)
def test_nothing_to_learn(points: Points, nothing: bool, known: bool) -> None:
    assert (points.nothing_to_learn, points.known) == (nothing, known)


def test_what_a_plain_run_reaches() -> None:
    label = REFERENCES[0].label
    assert reach({}) is None
    assert reach({label: Trace.of([2.0] * 40 + [1.0, 1.0, 1.0])}) == Reach(1.0, 43), "its last three losses"
    assert reach({label: Trace.of([2.0] * 40 + [1.0] * 5 + [1.3])}) == Reach(1.0, 46), "or the middle of its end"
    assert reach({label: Trace.of([])}) is None
    assert reach({label: replace(curve(1.0), crash=Crash("ValueError", "", 0))}) is None
    idle = curve(1.0)
    idle.applied.without_effect = ["plain_adam"]
    assert reach({label: idle}) is None
    idle.applied.without_effect = ["something else"]
    assert reach({label: idle}) == Reach(1.0, 200)
    single = Trace.of([2.0] * 6 + [0.0, 0.0, 3.0])
    single.batch_size = 1
    assert reach({label: single}) == Reach(1.0, 9)
    single.losses = [2.0, 1.0]
    assert reach({label: single}) == Reach(1.0, 2)


def test_how_far_above_the_reach() -> None:
    assert above_reach(Reach(1.0, 9), 2.0, 5.0) == 0.25
    assert above_reach(Reach(1.0, 9), 2.0, 1.0) == 0.0
    assert above_reach(Reach(1.0, 9), 2.0, 0.5) == 0.0
    controls = {REFERENCES[0].label: curve(0.5)}
    assert missing_reference(controls, 0.5) is None
    assert missing_reference(controls, 0.4) is REFERENCES[1]
    assert missing_reference({**controls, REFERENCES[1].label: curve(0.9)}, 0.4) is None
    assert [cure.options["rate"] for cure in REFERENCES] == [1e-2, 1e-3]


def test_a_cure_that_learns_less_than_the_run_without_it_proves_nothing() -> None:
    """A queue fills, and at a thousandth of the rate the loss ends a little below no learning at all, and far above
    the run without that cure."""
    symptom = Symptom("flat", "not learning", 3.8, 2.0, "high", "flat")
    filling = curve(4.9, first=3.1)
    assert kind(without_a_fall(curve(3.8, first=3.1), {UNTRAINED.label: filling}, symptom, {})) == "passes"
    for uncured, said in ((2.2, "fails"), (3.8, "fails"), (3.9, "passes")):
        controls = {UNTRAINED.label: filling, UNTREATED: curve(uncured, first=3.1)}
        assert kind(without_a_fall(curve(3.8, first=3.1), controls, symptom, {})) == said
