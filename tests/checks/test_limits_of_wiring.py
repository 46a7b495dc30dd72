"""gradients_flow, uses_its_input and trains_without_nan at their limits, and in the words that a reader sees."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_trainhealth.checks import check, check_page, gradients_flow, trains_without_nan, uses_its_input
from pytest_trainhealth.records.judgement import UNTREATED, CouldNotJudge, FailedRun, Passed
from pytest_trainhealth.records.numbers import NonFinite
from pytest_trainhealth.records.probes import (
    InputRecord,
    LastingDropout,
    LeakRecord,
    MaskEdit,
    MixingRecord,
    PaddingRecord,
    ProbeRecord,
    ScrambleRecord,
)
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import (
    EmptyUpdates,
    FrozenChange,
    FrozenRows,
    LostUpdates,
    ModeRecord,
    ModuleRecord,
    OptimizerRecord,
    ParameterRecord,
)

NONE: dict[int, float | None] = {0: None, 1: None}
ZERO: dict[int, float | None] = {0: 0.0, 1: 0.0}


def parameter(name: str, **facts: Any) -> ParameterRecord:
    known = {"module": name.rpartition(".")[0], "held_by": ("SGD",), "moved": True, "gradients": {0: 1.0}, **facts}
    return ParameterRecord(name, **{"shape": (4, 4), "size": 16, **known})


def trace(*parameters: ParameterRecord, steps: int = 32) -> Trace:
    made = Trace.of([1.0] * steps, parameters)
    made.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", lr={0: 0.1}, steps=steps)
    for each in parameters:
        made.wiring.modules[each.module] = ModuleRecord(each.module, "Linear", calls=3)
    return made


GOOD = parameter("a.weight")
CUT = parameter("cut.weight", gradients=NONE, moved=False)
STILL = parameter("still.weight", moved=False)
FAINT = parameter("0.weight", gradients={0: 1e-10})


def stops(made: Trace, **settings: int) -> bool:
    return gradients_flow.stop_when(made, settings)


def said(made: Trace) -> Symptom:
    symptom = gradients_flow.judge(made, {})
    assert isinstance(symptom, Symptom)
    return symptom


@pytest.mark.parametrize(
    ("name", "turn", "one_batch", "steps", "blames_rates", "times_steps"),
    [
        ("gradients_flow", 0, False, 4, False, False),
        ("uses_its_input", 1, False, 9, False, False),
        ("overfits_one_batch", 2, True, 200, True, False),
        ("learns_from_data", 3, False, 80, True, False),
        ("trains_without_nan", 99, False, 50, True, False),
        ("keeps_throughput", 99, False, 30, False, True),
    ],
)
def test_what_the_engine_knows_about_a_check(
    name: str, turn: int, one_batch: bool, steps: int, blames_rates: bool, times_steps: bool
) -> None:
    known = check(name)
    assert (known.turn, known.one_batch, known.steps) == (turn, one_batch, steps)
    assert (known.blames_rates, known.times_steps) == (blames_rates, times_steps)
    assert check_page(name).startswith(f"{name}: ")


# -- gradients_flow: how long -------------------------------------------------------------------------------------


def test_the_most_calls_are_those_of_three_long_accumulations() -> None:
    assert gradients_flow.max_steps({}) == 192
    assert gradients_flow.max_steps({"steps": 100}) == 192
    assert gradients_flow.max_steps({"steps": 300}) == 300


@pytest.mark.parametrize(
    ("steps", "updates", "given", "done"),
    [
        (63, 0, {}, False),
        (64, 0, {}, True),
        (64, 0, {"steps": 80}, False),
        (80, 0, {"steps": 80}, True),
        (64, 0, {"steps": 8}, True),
        (100, 2, {}, False),
        (100, 3, {}, True),
    ],
)
def test_updates_are_waited_for(steps: int, updates: int, given: dict[str, int], done: bool) -> None:
    made = trace(parameter("a.weight", moved=bool(updates)), steps=steps)
    made.updates = [1] * updates + [0] * (steps - updates)
    assert stops(made, **given) is done


@pytest.mark.parametrize(
    ("steps", "given", "done"),
    [
        (3, {}, False),
        (4, {}, True),
        (4, {"steps": 8}, False),
        (8, {"steps": 8}, True),
        (3, {"steps": 1}, True),
        (2, {"steps": 1}, False),
    ],
)
def test_healthy_wiring_takes_four_steps(steps: int, given: dict[str, int], done: bool) -> None:
    assert stops(trace(GOOD, steps=steps), **given) is done


def test_what_moves_without_an_optimizer_takes_as_long() -> None:
    made = trace(GOOD, steps=4)
    made.updates = [0] * 4
    assert stops(made)


@pytest.mark.parametrize("more", [(CUT,), (STILL,), (FAINT,)])
def test_what_is_missing_is_looked_for_until_step_32(more: tuple[ParameterRecord, ...]) -> None:
    assert not stops(trace(*more, GOOD, steps=31))
    assert stops(trace(*more, GOOD, steps=32))
    assert not stops(trace(*more, GOOD, steps=32), steps=40)
    assert stops(trace(*more, GOOD, steps=40), steps=40)


def test_other_reasons_to_look_on() -> None:
    assert stops(trace(parameter("c.bias", gradients=ZERO, shape=(4,), moved=False), GOOD, steps=8))
    made = trace(GOOD, steps=8)
    made.wiring.empty_updates = EmptyUpdates(full=7, cleared=1)
    assert not stops(made)
    made = trace(GOOD, steps=8)
    made.wiring.zeroed_rows["r"] = FrozenRows("r", "SGD", [0])
    assert not stops(made)
    made = trace(GOOD, parameter("b.weight", held_by=("Adam",), moved=False), steps=8)
    made.wiring.optimizers["Adam"] = OptimizerRecord("Adam", "Adam")
    assert not stops(made)


# -- gradients_flow: what it says ---------------------------------------------------------------------------------


def test_no_backward_pass_at_all() -> None:
    made = trace(parameter("a.weight", moved=False, gradients={}))
    made.backwards = [0] * 32
    assert said(made).summary == "no backward pass in 32 steps, and no parameter moved"
    assert said(made).limit == 1.0
    made.backwards = [0] * 31 + [1]
    assert said(made).summary == "no parameter moved in 32 optimizer steps"
    made = trace(parameter("a.weight", moved=False))
    made.backwards = [0] * 32  # by autograd.grad()
    assert said(made).summary == "no parameter moved in 32 optimizer steps"


def test_a_rate_that_is_zero_all_the_time_is_told_as_such() -> None:
    made = trace(parameter("a.weight", moved=False))
    made.wiring.optimizers["SGD"].lr = {0: 0.0, 1: 0.0}
    assert said(made).category == "no-learning-rate"
    made.wiring.optimizers["SGD"].lr = {0: 0.0, 1: 0.1}
    assert said(made).category == "not-learning"


def test_one_of_two_optimizers_never_steps() -> None:
    for steps, found in ((31, False), (32, True)):
        made = trace(GOOD, parameter("b.weight", held_by=("Adam",), moved=False), steps=steps)
        made.wiring.optimizers["Adam"] = OptimizerRecord("Adam", "Adam")
        verdict = gradients_flow.judge(made, {})
        assert isinstance(verdict, Symptom) is found
        if isinstance(verdict, Symptom):
            assert verdict.summary == "Adam never stepped, while the others took 32 steps (expected at least 1)"
            assert (verdict.measured, verdict.limit) == (0.0, 1.0)


def test_what_is_left_at_a_rate_of_zero_is_told_after_32_steps() -> None:
    zero = parameter("b.weight", moved=False, lost=LostUpdates(count=20, rate=0.0))
    assert isinstance(gradients_flow.judge(trace(GOOD, zero, steps=31), {}), CouldNotJudge)
    symptom = said(trace(GOOD, zero))
    assert symptom.summary == "1 of 2 trainable parameters had a learning rate of 0 for 32 steps (expected 0)"
    assert (symptom.category, symptom.measured, symptom.limit) == ("no-learning-rate", 1.0, 0.0)


def test_the_order_of_what_is_found() -> None:
    made = trace(GOOD, CUT)
    made.wiring.stale_gradients = {"SGD": [0, 1]}
    assert "stepped 2 times" in said(made).summary
    made = trace(GOOD, CUT, parameter("b.weight", held_by=(), moved=False))
    assert "got gradients but never moved" in said(made).summary


def test_gradients_set_to_zero_by_hand_are_not_missing() -> None:
    zeroed = parameter("b.weight", gradients=ZERO)
    made = trace(GOOD, zeroed)
    assert "a gradient of exactly 0 in 32 steps" in said(made).summary
    made.wiring.zeroed_changes["b.weight"] = FrozenChange("b.weight", "SGD", [0, 1])
    assert said(made).summary == "b.weight gets a gradient of 0, set by hand, but moved at 2 steps (expected 0)"
    made.wiring.parameters["cut.weight"] = CUT
    assert "2 of 3 trainable parameters got" in said(made).summary


def test_a_gradient_that_has_vanished_is_told_with_its_share() -> None:
    symptom = said(trace(FAINT, GOOD))
    assert symptom.summary == (
        "the gradient of 0.weight is 2.5e-11 per value, 1e-10 of the largest (at least 1e-08 is usual)"
    )
    assert symptom.measured == pytest.approx(1e-10)
    package = parameter("0.weight", gradients={0: 1e-10}, made_by="timm")
    assert isinstance(gradients_flow.judge(trace(package, GOOD), {}), Passed)


def test_notes_of_what_passed() -> None:
    small = parameter("b.weight", moved=False, dtype="bfloat16", lost=LostUpdates(count=9, rate=0.1, too_small=True))
    unused = parameter("c.bias", gradients=ZERO, shape=(4,), moved=False)
    verdict = gradients_flow.judge(trace(GOOD, small, unused, parameter("d.weight", gradients={})), {})
    assert isinstance(verdict, Passed)
    assert verdict.notes == (
        "c.bias got no gradient in 32 steps",
        "b.weight did not move: updates at this rate are too small for bfloat16",
    )
    assert verdict.figures == {"parameters": 4.0, "with_gradient": 2.0}
    assert gradients_flow.judge(trace(GOOD), {}).notes == ()  # type: ignore[union-attr]


def test_what_cannot_be_judged() -> None:
    assert gradients_flow.judge(trace(GOOD, steps=0), {}) == CouldNotJudge("no step was taken")
    made = trace(GOOD)
    made.cut_short = "the budget is used up"
    assert gradients_flow.judge(made, {}) == CouldNotJudge("the budget is used up")
    scheduled = parameter("b.weight", moved=False, lost=LostUpdates(count=20, rate=0.0, initial_rate=0.1))
    verdict = gradients_flow.judge(trace(GOOD, scheduled), {})
    assert isinstance(verdict, CouldNotJudge)
    assert verdict.reason.startswith("b.weight had a learning rate of 0 for 32 steps")


def robbed() -> Trace:
    made = trace(GOOD)
    made.wiring.empty_updates = EmptyUpdates(full=4, cleared=28)
    return made


def in_eval() -> Trace:
    made = trace(GOOD)
    made.wiring.modes["Net"] = ModeRecord("Net", [], [0, 1], {"d": "Dropout"})
    return made


def stale(leaked: bool) -> Trace:
    made = trace(GOOD)
    if leaked:
        made.wiring.leaked_gradients = {"SGD": {0: "Adam", 1: "Adam"}}
    else:
        made.wiring.stale_gradients = {"SGD": [0, 1]}
    return made


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (trace(GOOD), "all 1 parameter train"),
        (trace(GOOD, CUT, FAINT), "1 of 3 do not train"),
        (trace(FAINT, GOOD), "1 of 2 do not train"),
        (trace(GOOD, parameter("b.weight", held_by=(), moved=False)), "1 of 2 do not train"),
        (trace(GOOD, parameter("b.weight", moved=False, lost=LostUpdates(9, 0.1))), "1 of 2 do not train"),
        (trace(GOOD, parameter("b.weight", moved=False, lost=LostUpdates(9, 0.0))), "1 of 2 do not train"),
        (trace(STILL), "nothing moves"),
        (stale(leaked=False), "gradients add up"),
        (stale(leaked=True), "gradients add up"),
        (robbed(), "most steps are empty"),
        (in_eval(), "Net is trained in eval mode"),
        (Trace.of([math.nan]), "not finite"),
    ],
)
def test_a_run_in_a_few_characters(made: Trace, told: str) -> None:
    assert gradients_flow.result(made) == told


def test_most_steps_that_are_empty_are_counted() -> None:
    assert said(robbed()).summary == "28 of 32 optimizer steps had no gradient to step with (expected 0)"


# -- uses_its_input -----------------------------------------------------------------------------------------------

INPUT = {"name": "x", "model": "Net", "shape": (16, 8)}


def probed(**facts: Any) -> Trace:
    made = Trace.of([1.0] * 9)
    made.probe = ProbeRecord(8, **{"calls": 1, "seen": 1, "judged": {"inputs": 1, "mixing": 1}, **facts})
    return made


FOUND: list[tuple[dict[str, Any], str, str]] = [
    ({"mixing": [MixingRecord("Net", 0, 16, 15, 0.4)]},
     "replacing sample 0 changes the outputs of 15 of 15 others, by up to 40 % of its own change (expected 0)",
     "samples change each other's outputs"),
    ({"mixing": [MixingRecord("Net", 3, 16, 9, 0.4, in_loss=True)]},
     "the gradients of 9 of 15 samples depend on the scores of sample 3, by up to 40 % of its own dependence "
     "(expected 0)",
     "samples change each other's loss"),
    ({"mixing": [MixingRecord("Net", 0, 16, 15, 0.4, carried="state")]},
     "with state set to 0, which Net keeps from the batch before, the outputs for this batch change, and batches are "
     "drawn at random (expected no change)",
     "samples of the batch before change the outputs"),
    ({"scrambles": [ScrambleRecord("view", (2, 3), (3, 2))]},
     "view() reads (2, 3) as (3, 2) without moving a value: rows are torn apart (expected a transpose)",
     "view() tears rows apart"),
    ({"mask_edits": [MaskEdit("Net", "mask", True, 0.6, 0.5)]},
     "each call of Net writes into mask, which has 60 % ones before and 50 % after two calls (expected the same)",
     "a call edits mask"),
    ({"dropouts": [LastingDropout("Net", "F.dropout()")]},
     "F.dropout() in Net drops values of the input's features in eval mode (expected none)",
     "F.dropout() drops values in eval mode"),
    ({"leaks": [LeakRecord("Net", "tokens", "same", 8, 16, 0.2)]},
     "each target is the element of tokens at the same position, an input of Net",
     "the target is given as input"),
    ({"leaks": [LeakRecord("Net", "tokens", "future", 8, 16, 0.2)]},
     "outputs up to position 8 of 16 change with later elements of tokens, by 20 % of the change in later outputs "
     "(expected 0)",
     "the model sees what it has to predict"),
    ({"inputs": [InputRecord(**INPUT, ignored=True)]},
     "other samples' values for x change no output of Net (expected some change)",
     "x has no influence on the output"),
    ({"inputs": [InputRecord(**INPUT, ignored=True, hidden=True)]},
     "other values of x where it is not padding change no output of Net (expected some change)",
     "only the padding of x is read"),
    ({"inputs": [InputRecord(**INPUT, unit="column", parts=8, ignored_parts=(3,))]},
     "1 of 8 columns of x has no influence on any output of Net (expected 0)",
     "1 column of x without influence"),
    ({"inputs": [InputRecord(**INPUT, unit="column", parts=8, ignored_parts=(3, 4))]},
     "2 of 8 columns of x have no influence on any output of Net (expected 0)",
     "2 columns of x without influence"),
    ({"paddings": [PaddingRecord("Net", "mask", "tokens", 0.3, 15, 12)]},
     "more padding after tokens, masked by mask, changes outputs at real positions by 30 % of what another sample "
     "would (expected 0)",
     "padding changes the output"),
    ({"paddings": [PaddingRecord("Net", "lengths", "tokens", 0.3, 15, 12, known_from="lengths", longer=False)]},
     "other padding after tokens, marked by lengths, changes outputs at real positions by 30 % of what another sample "
     "would (expected 0)",
     "padding changes the output"),
    ({"paddings": [PaddingRecord("Net", "mask", "tokens", 0.3, 15, 12, in_loss=True, counted=59, positions=176)]},
     "59 of 176 positions that the loss counts are padding after tokens (expected 0)",
     "the loss counts padding"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "summary", "headline"), FOUND)
def test_what_a_probe_shows_is_told_with_what_was_expected(facts: dict[str, Any], summary: str, headline: str) -> None:
    symptom = uses_its_input.judge(probed(**facts), {})
    assert isinstance(symptom, Symptom)
    assert (symptom.summary, symptom.headline) == (summary, headline)
    assert symptom.category == "silently-wrong"
    assert uses_its_input.result(probed(**facts)) == headline


def test_the_graver_fault_is_told_first() -> None:
    every = {name: records for facts, _, _ in FOUND for name, records in facts.items()}
    assert uses_its_input.result(probed(**every)) == "samples of the batch before change the outputs"
    del every["mixing"], every["scrambles"], every["mask_edits"]
    assert uses_its_input.result(probed(**every)) == "the model sees what it has to predict"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"judged": {}, "seen": 0}, "no call of the model was seen that could be repeated"),
        ({"judged": {"inputs": 0}, "reasons": ["it is one", "it is one", "it is two"]}, "it is one; it is two"),
        ({"judged": {}}, "no input has two or more different samples along its first dimension"),
    ],
)
def test_why_inputs_could_not_be_judged(facts: dict[str, Any], reason: str) -> None:
    assert uses_its_input.judge(probed(**facts), {}) == CouldNotJudge(reason)


def test_notes_of_what_is_meant() -> None:
    beyond = InputRecord(**INPUT, unit="column", parts=8, ignored_parts=(0, 1), out_of_view=True)
    verdict = uses_its_input.judge(probed(inputs=[beyond], states=["kept"], designs=["a graph", "a graph"]), {})
    assert isinstance(verdict, Passed)
    assert verdict.notes == (
        "samples change each other's outputs, as is meant: a graph",
        "kept",
        "column 0 and 1 of x lies beyond what the convolutions of Net see",
    )
    assert verdict.figures == {"inputs": 1.0, "mixing": 1.0}


def test_why_mixing_was_not_judged_is_noted_only_where_it_was_not() -> None:
    verdict = uses_its_input.judge(probed(reasons=["one sample"], judged={"inputs": 1}), {})
    assert verdict.notes == ("whether samples mix was not judged: one sample",)  # type: ignore[union-attr]
    verdict = uses_its_input.judge(probed(reasons=["one sample"]), {})
    assert verdict.notes == ()  # type: ignore[union-attr]
    verdict = uses_its_input.judge(probed(judged={"inputs": 1}), {})
    assert verdict.notes == ()  # type: ignore[union-attr]


def test_without_a_look_nothing_is_said_about_inputs() -> None:
    made = Trace.of([1.0])
    assert uses_its_input.judge(made, {}) == CouldNotJudge("too few steps to see the model being called: 3 are needed")
    made.cut_short = "the budget is used up"
    assert uses_its_input.judge(made, {}) == CouldNotJudge("the budget is used up")
    assert uses_its_input.result(made) == "not examined"
    assert uses_its_input.result(Trace.of([math.nan])) == "not finite"
    assert uses_its_input.result(probed()) == "outputs follow the inputs"
    assert check("uses_its_input").max_steps({}) == 9
    assert check("uses_its_input").max_steps({"steps": 5}) == 5
    assert check("uses_its_input").stop_when(probed(), {}) is False


# -- trains_without_nan -------------------------------------------------------------------------------------------


def broken(*losses: float) -> Trace:
    made = Trace.of([*losses, math.nan])
    made.nonfinite = NonFinite(len(losses), "the loss", "nan")
    return made


@pytest.mark.parametrize(
    ("before", "cured", "learns"),
    [
        ([2.0, 1.0, 1.0, 1.0], [2.0, 1.91, 1.91, 1.91], False),  # less than a tenth of that fall
        ([2.0, 1.0, 1.0, 1.0], [2.0, 1.89, 1.89, 1.89], True),
        ([2.0, 1.81, 1.81, 1.81], [2.0, 2.0, 2.0, 2.0], True),  # it never fell clearly
        ([2.0, 1.79, 1.79, 1.79], [2.0, 2.0, 2.0, 2.0], False),
        ([2.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], True),  # too few losses to tell
        ([2.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0], True),
        ([2.0, 1.0, 1.0, 1.0], [2.0, 1.0, 2.0, 2.0], False),  # one easy batch is no fall
        ([-2.0, -2.3, -2.3, -2.3], [-2.0, -2.0, -2.0, -2.0], False),
        ([1.0, 0.0, 0.0, 0.0], [3.0, 0.95, 0.95, 0.95], False),  # both are counted from the first loss
    ],
)
def test_a_cured_run_has_to_learn_a_tenth_of_what_was_learnt(
    before: list[float], cured: list[float], learns: bool
) -> None:
    verdict = trains_without_nan.judge(Trace.of(cured), {}, {UNTREATED: broken(*before)})
    assert isinstance(verdict, Passed) is learns
    told = trains_without_nan.result(Trace.of(cured), FailedRun(broken(*before), Symptom("", "explosion", 0.0, 0.0)))
    assert ("stuck" in told) is not learns
    finite = Trace.of(before)
    assert isinstance(trains_without_nan.judge(Trace.of(cured), {}, {UNTREATED: finite}), Passed), "it did not break"


def test_what_trains_without_nan_tells() -> None:
    assert trains_without_nan.max_steps({}) == 50
    assert trains_without_nan.cured_steps({"steps": 7}) == 14
    assert check("trains_without_nan").stop_when(Trace.of([1.0]), {}) is False
    assert trains_without_nan.result(broken(1.0)) == "nan at step 1"
    assert trains_without_nan.judge(Trace.of([2.0, 1.0]), {}) == Passed(figures={"first_loss": 2.0, "last_loss": 1.0})
    assert trains_without_nan.judge(Trace.of(), {}) == CouldNotJudge("no step was taken")
    made = Trace.of([1.0])
    made.cut_short = "the budget is used up"
    assert trains_without_nan.judge(made, {}) == CouldNotJudge("the budget is used up")


def test_the_steps_that_were_planned_are_told_of_a_run_without_a_cure() -> None:
    symptom = trains_without_nan.judge(broken(2.0, 1.0), {"steps": 3})
    assert isinstance(symptom, Symptom)
    assert symptom.summary == "the loss is nan at step 2 of 3 (2.000 -> 1.000 until then)"
    late = trains_without_nan.judge(broken(2.0, 1.0), {"steps": 2})
    assert late.summary == "the loss is nan at step 2 (2.000 -> 1.000 until then)"  # type: ignore[union-attr]
    cured = broken(2.0, 1.0)
    cured.cured = True
    assert trains_without_nan.judge(cured, {}).summary == late.summary  # type: ignore[union-attr]
    unknown = trains_without_nan.judge(Trace.of([2.0, math.inf]), {})
    assert unknown.headline == "the loss is nan at step 1"  # type: ignore[union-attr]
    made = Trace.of([1.0])
    made.loss_connected = False
    assert "depends on no trainable parameter" in trains_without_nan.judge(made, {}).summary  # type: ignore[union-attr]
