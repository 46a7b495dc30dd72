"""Wiring, judged on made-up traces."""

from __future__ import annotations

import pytest

from pytest_trainhealth.checks.gradients_flow import judge, stop_when
from pytest_trainhealth.records.judgement import CouldNotJudge, Passed
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Symptom
from pytest_trainhealth.records.wiring import EmptyUpdates, LostUpdates, ModuleRecord, OptimizerRecord, ParameterRecord


def parameter(name: str, **facts: object) -> ParameterRecord:
    """A healthy weight matrix, but for the given facts."""
    record = ParameterRecord(
        name,
        (4, 4),
        16,
        module=name.rpartition(".")[0],
        held_by=("SGD",),
        moved=True,
        gradients={0: 1.0, 1: 0.9, 2: 0.8},
    )
    for key, value in facts.items():
        setattr(record, key, value)
    return record


def trace(*parameters: ParameterRecord, steps: int = 32) -> Trace:
    made = Trace.of([1.0] * steps, parameters)
    made.wiring.optimizers["SGD"] = OptimizerRecord("SGD", "SGD", lr={0: 0.1}, steps=steps)
    for each in parameters:
        made.wiring.modules[each.module] = ModuleRecord(each.module, "Linear", calls=3)
    return made


NO_GRADIENT: dict[int, float | None] = {0: None, 1: None, 2: None}
ZERO_GRADIENT: dict[int, float | None] = {0: 0.0, 1: 0.0, 2: 0.0}


def summary(made: Trace) -> str:
    symptom = judge(made, {})
    assert isinstance(symptom, Symptom)
    return symptom.summary


def test_all_is_well() -> None:
    assert isinstance(judge(trace(parameter("a.weight"), parameter("b.weight")), {}), Passed)


def test_in_no_optimizer() -> None:
    orphan = parameter("head.weight", held_by=(), moved=False)
    assert summary(trace(parameter("a.weight"), orphan)).startswith(
        "1 of 2 trainable parameters got gradients but never moved"
    )


def test_moved_by_hand_is_fine() -> None:
    assert isinstance(judge(trace(parameter("a.weight"), parameter("ema.weight", held_by=())), {}), Passed)


def test_no_gradient_ever() -> None:
    cut = parameter("a.weight", gradients=NO_GRADIENT, moved=False)
    assert "1 of 2 trainable parameters got no gradient in 32 steps" in summary(trace(cut, parameter("b.weight")))


def test_a_gradient_that_comes_with_the_second_step_is_fine() -> None:
    late = parameter("branch.weight", gradients={0: 0.0, 1: 0.3, 2: 0.3})
    assert isinstance(judge(trace(late, parameter("b.weight")), {}), Passed)


def test_a_gradient_of_exactly_zero_though_weight_decay_moves_it() -> None:
    dead = parameter("a.weight", gradients=ZERO_GRADIENT)
    assert "a gradient of exactly 0" in summary(trace(dead, parameter("b.weight")))


def test_a_bias_that_cancels_out_is_fine() -> None:
    bias = parameter("critic.bias", gradients=ZERO_GRADIENT, shape=(1,), size=1, moved=False)
    verdict = judge(trace(bias, parameter("b.weight")), {})
    assert isinstance(verdict, Passed)
    assert verdict.notes == ("critic.bias got no gradient in 32 steps",)


def test_an_unused_module_of_an_installed_package_is_a_note() -> None:
    pooler = parameter("bert.pooler.weight", gradients=NO_GRADIENT, moved=False, made_by="transformers")
    verdict = judge(trace(pooler, parameter("b.weight")), {})
    assert isinstance(verdict, Passed)
    assert verdict.notes


def test_an_expert_without_tokens_beside_others_is_fine() -> None:
    made = trace(parameter("experts.0.weight"), parameter("experts.1.weight", gradients=NO_GRADIENT, moved=False))
    made.wiring.modules["experts.1"].calls = 0
    assert isinstance(judge(made, {}), Passed)


def test_a_target_network_is_fine() -> None:
    target = parameter("target.weight", gradients=NO_GRADIENT, moved=False, held_by=())
    made = trace(parameter("policy.weight"), target)
    made.wiring.modules["target"].grad_enabled = False
    assert isinstance(judge(made, {}), Passed)


def test_frozen_parameters_are_left_in_peace() -> None:
    frozen = parameter("backbone.weight", trainable=False, gradients={}, moved=False, held_by=())
    assert isinstance(judge(trace(frozen, parameter("head.weight")), {}), Passed)


def test_a_vanished_gradient() -> None:
    faint = parameter("a.weight", gradients={0: 1e-10, 1: 1e-10})
    assert summary(trace(faint, parameter("b.weight"))).startswith("the gradient of a.weight is 2.5e-11 per value")


def test_a_faint_weight_further_on_is_fine() -> None:
    """Query and key weights at the start: 1e-9 of the largest gradient in a healthy MobileBERT."""
    query = parameter("layer.query.weight", gradients={0: 1e-10, 1: 1e-10})
    assert isinstance(judge(trace(parameter("embed.weight"), query, parameter("head.weight")), {}), Passed)


def test_stale_gradients() -> None:
    made = trace(parameter("a.weight"))
    made.wiring.stale_gradients = {"SGD": [1, 2, 3]}
    assert summary(made).startswith("SGD stepped 3 times with gradients that still held those of the last step")


def test_gradients_of_another_optimizer() -> None:
    made = trace(parameter("a.weight"))
    made.wiring.leaked_gradients = {"Adam[1]": {0: "Adam[0]", 1: "Adam[0]"}}
    said = "Adam[1] stepped 2 times with gradients that Adam[0]'s backward pass had left"
    assert summary(made).startswith(said)


def test_stale_once_is_no_habit() -> None:
    made = trace(parameter("a.weight"))
    made.wiring.stale_gradients = {"SGD": [1]}
    assert isinstance(judge(made, {}), Passed)


@pytest.mark.parametrize(
    ("updates", "rate", "said"),
    [
        (0, 0.1, "no optimizer step in 32 steps, and no parameter moved"),
        (1, 0.0, "the learning rate is 0 for 32 steps, and no parameter moved"),
        (1, 0.1, "no parameter moved in 32 optimizer steps"),
    ],
)
def test_nothing_moves(updates: int, rate: float, said: str) -> None:
    made = trace(parameter("a.weight", moved=False))
    made.updates = [updates] * 32
    made.wiring.optimizers["SGD"].lr = {0: rate}
    assert summary(made) == said


def test_a_loss_at_its_minimum_cannot_be_judged() -> None:
    assert isinstance(judge(trace(parameter("a.weight", gradients=ZERO_GRADIENT)), {}), CouldNotJudge)


def test_it_looks_on_while_something_is_missing() -> None:
    healthy, cut = parameter("a.weight"), parameter("b.weight", gradients=NO_GRADIENT, moved=False)
    assert stop_when(trace(healthy, steps=4), {})
    assert not stop_when(trace(healthy, cut, steps=8), {})
    assert stop_when(trace(healthy, cut, steps=32), {})


# -- held and not moving ----------------------------------------------------------------------------------------


def stuck(**facts: object) -> ParameterRecord:
    """Held, with a gradient at 31 updates, and not moved."""
    lost = LostUpdates(count=31, rate=0.1)
    for key, value in facts.items():
        setattr(lost, key, value)
    return parameter("head.weight", moved=False, lost=lost)


def test_held_with_gradients_and_never_moved() -> None:
    said = summary(trace(parameter("a.weight"), stuck()))
    assert (
        said
        == "1 of 2 trainable parameters got gradients and an optimizer, but never moved in 31 of its steps (expected 0)"
    )


@pytest.mark.parametrize(
    "facts",
    [{"too_small": True}, {"constant": True, "written": True}, {"count": 4}],
    ids=["too small for the type of number", "at a bound", "too few updates"],
)
def test_held_and_still_for_a_reason(facts: dict[str, object]) -> None:
    assert isinstance(judge(trace(parameter("a.weight"), stuck(**facts)), {}), Passed)


def test_a_group_at_a_rate_of_zero() -> None:
    assert "had a learning rate of 0 for 32 steps" in summary(trace(parameter("a.weight"), stuck(rate=0.0)))


@pytest.mark.parametrize("steps", [32, 8])
def test_a_rate_of_zero_that_may_rise_cannot_be_judged(steps: int) -> None:
    scheduled = stuck(rate=0.0, initial_rate=0.1)
    assert isinstance(judge(trace(parameter("a.weight"), scheduled, steps=steps), {}), CouldNotJudge)


def test_it_looks_on_while_something_held_has_not_moved() -> None:
    assert not stop_when(trace(parameter("a.weight"), parameter("b.weight", moved=False), steps=8), {})
    assert stop_when(trace(parameter("a.weight"), parameter("b.weight"), steps=8), {})


@pytest.mark.parametrize(("full", "empty", "sick"), [(8, 24, True), (16, 16, False), (30, 2, False), (0, 4, False)])
def test_steps_without_a_gradient(full: int, empty: int, sick: bool) -> None:
    made = trace(parameter("a.weight"))
    made.wiring.empty_updates = EmptyUpdates(full=full, not_computed=empty)
    assert isinstance(judge(made, {}), Symptom) == sick


# -- not handed over, and before what is trained ----------------------------------------------------------------


def unheld(**facts: object) -> ParameterRecord:
    return parameter("body.weight", held_by=(), moved=False, **{"behind_trained": False, **facts})


def test_before_what_is_trained_is_a_note() -> None:
    verdict = judge(trace(unheld(), parameter("head.weight")), {})
    assert isinstance(verdict, Passed)
    assert "got gradients that no optimizer uses" in verdict.notes[0]


@pytest.mark.parametrize(
    "facts",
    [{"behind_trained": True}, {"behind_trained": None}, {"appeared": 0}, {"kept_in": "layers"}, {"model": "other"}],
)
def test_left_out_by_mistake(facts: dict[str, object]) -> None:
    assert isinstance(judge(trace(unheld(**facts), parameter("head.weight")), {}), Symptom)


def test_an_optimizer_that_was_made_for_other_tensors_spares_nothing() -> None:
    made = trace(unheld(), parameter("head.weight"))
    made.wiring.optimizers["SGD"].foreign_tensors = 2
    assert isinstance(judge(made, {}), Symptom)
