"""Loops that are run as they stand: what is found in them when they are returned is found when they are watched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import _global_forward_pre_hooks

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import NotATraining, examine
from pytest_trainhealth.records.verdict import Verdict

from . import loops
from .loops import Batch, Loop, mlp, pictures

FLOW, MEMORY = "gradients_flow", "overfits_one_batch"

#: The loop, its fault, the check that finds it, and the cause that is named first.
FAULTS = [
    (loops.parts_of_a_class, "not held", FLOW, "parameters-not-in-optimizer"),
    (loops.parts_of_a_class, "unused", FLOW, "unused-parameters"),
    (loops.parts_of_a_class, "detached", FLOW, "disconnected-graph"),
    (loops.parts_of_a_class, "eval", FLOW, "wrong-mode"),
    (loops.gan, "not held", FLOW, "parameters-not-in-optimizer"),
    (loops.gan, "not cleared", FLOW, "missing-zero-grad"),
    (loops.gan, "detached", FLOW, "disconnected-graph"),
    (loops.actor_critic, "not held", FLOW, "parameters-not-in-optimizer"),
    (loops.actor_critic, "detached", FLOW, "disconnected-graph"),
    (loops.methods, "not held", FLOW, "parameters-not-in-optimizer"),
    (loops.methods, "unused", FLOW, "unused-parameters"),
    (loops.transforms, "not held", FLOW, "parameters-not-in-optimizer"),
    (loops.transforms, "not cleared", FLOW, "missing-zero-grad"),
    (loops.transforms, "detached", FLOW, "disconnected-graph"),
    (loops.losses, "double softmax", MEMORY, "double-softmax"),
    (loops.losses, "broadcast", MEMORY, "target-shape-mismatch"),
    (loops.losses, "sign", MEMORY, "wrong-loss-sign"),
    (loops.closures, "not cleared", FLOW, "missing-zero-grad"),
    (loops.closures, "twice", FLOW, "duplicate-parameters"),
    (loops.closures, "clipped", MEMORY, "bad-gradient-clipping"),
    (loops.own_optimizer, "not held", FLOW, "parameters-not-in-optimizer"),
    (loops.own_optimizer, "not cleared", FLOW, "missing-zero-grad"),
    (loops.own_optimizer, "no step", FLOW, "missing-optimizer-step"),
    (loops.own_optimizer, "detached", FLOW, "disconnected-graph"),
]
TWINS = [*(each for each in loops.LOOPS if each is not loops.forward_only)]


def watched(body: Callable[[], object], check: str) -> Verdict:
    return examine(body, Request(check, "loop", 0, {}))


@pytest.mark.parametrize(("loop", "fault", "check", "cause"), FAULTS, ids=lambda each: getattr(each, "__name__", each))
def test_a_fault_in_a_watched_loop(loop: Callable[[str], Loop], fault: str, check: str, cause: str) -> None:
    verdict = watched(lambda: loop(fault).run(), check)
    assert verdict.failed, verdict
    assert verdict.findings[0].cause == cause


@pytest.mark.parametrize("loop", TWINS, ids=lambda each: each.__name__)
def test_its_healthy_twin(loop: Callable[[str], Loop]) -> None:
    assert watched(lambda: loop("none").run(), FLOW).passed


@pytest.mark.parametrize(
    "loop", [loops.own_optimizer, loops.derivatives, loops.toggled], ids=lambda each: each.__name__
)
def test_gradients_that_no_optimizer_of_torch_gets_are_seen_in_a_training_that_is_returned(
    loop: Callable[[str], Loop],
) -> None:
    assert watched(lambda: loop("none").training(), FLOW).passed


@pytest.mark.parametrize("how", ["returned", "watched"])
def test_an_optimizer_of_what_never_thaws_is_not_judged(how: str) -> None:
    """It may thaw later, and until then its steps do nothing."""

    def body() -> object:
        loop = loops.toggled("never thawed")
        return loop.training() if how == "returned" else loop.run()

    verdict = watched(body, FLOW)
    assert verdict.outcome == "could not judge"
    assert "and all that it holds is frozen: thaw it" in verdict.reason


def test_a_step_without_a_pass_at_the_start_has_no_loss_of_nan() -> None:
    def body() -> None:
        model = mlp(12, 32, 4)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number, (x, y) in enumerate(pictures(40)):
            loss = F.cross_entropy(model(x), y)
            if number > 1:
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    assert watched(body, "trains_without_nan").passed


def test_parts_have_the_names_of_their_variables() -> None:
    verdict = watched(lambda: loops.parts_of_a_class("unused").run(), FLOW)
    assert verdict.symptom is not None
    assert verdict.symptom.headline.startswith("decoder.0.weight, decoder.0.bias")


def test_a_frozen_part_that_thaws_is_judged_from_then_on() -> None:
    """Held, frozen at first, and never moved once it is thawed: something puts it back."""

    def body() -> None:
        model = mlp(12, 32, 4)
        first = model[0]
        first.requires_grad_(False)
        kept = [each.detach().clone() for each in first.parameters()]
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number, (x, y) in enumerate(pictures(12)):
            if number == 2:
                first.requires_grad_(True)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                for parameter, value in zip(first.parameters(), kept, strict=True):
                    parameter.copy_(value)

    verdict = watched(body, FLOW)
    assert verdict.symptom is not None
    assert verdict.symptom.summary.startswith(
        "2 of 4 trainable parameters got gradients and an optimizer, but never moved"
    )


# -- without backward() ---------------------------------------------------------------------------------------------


def test_a_loop_that_only_calls_its_model_has_trained_nothing() -> None:
    with pytest.raises(NotATraining, match="trained nothing that trains_without_nan could watch"):
        watched(lambda: loops.forward_only("none").run(), "trains_without_nan")


@pytest.mark.parametrize("check", ["trains_without_nan", "learns_from_data"])
def test_derivatives_give_a_loss(check: str) -> None:
    assert watched(lambda: loops.derivatives("none").run(), check).passed
    assert watched(lambda: loops.derivatives("nan").run(), check).failed


def functional(into_optimizer: bool) -> None:
    """Gradients of a function, as in `torch.func`: no tensor of a module has any part in them."""
    model = mlp(12, 32, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    weights = {name: each.detach() for name, each in model.named_parameters()}

    def loss(weights: dict[str, Tensor], batch: Batch) -> Tensor:
        return F.cross_entropy(torch.func.functional_call(model, weights, (batch[0],)), batch[1])

    for _ in range(8):
        for batch in pictures():
            gradients = torch.func.grad(loss)(weights, batch)
            if not into_optimizer:
                weights = {name: each - 0.1 * gradients[name] for name, each in weights.items()}
                continue
            for name, parameter in model.named_parameters():
                parameter.grad = gradients[name]
            optimizer.step()


def test_gradients_of_a_function_that_an_optimizer_is_given() -> None:
    assert watched(lambda: functional(True), FLOW).passed


def test_gradients_of_a_function_for_tensors_of_nobody() -> None:
    assert watched(lambda: functional(False), "trains_without_nan").passed
    verdict = watched(lambda: functional(False), FLOW)
    assert (verdict.outcome, verdict.reason) == (
        "could not judge",
        "no gradient of a parameter was seen: gradients are computed for tensors that no module or optimizer has",
    )


def test_updates_whose_loss_nobody_saw() -> None:
    def body() -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(30):
            for parameter in model.parameters():
                parameter.grad = torch.randn_like(parameter)
            optimizer.step()

    assert watched(body, FLOW).passed
    for check in ("trains_without_nan", MEMORY, "learns_from_data"):
        verdict = watched(body, check)
        assert verdict.reason.startswith("no loss was seen"), verdict


@pytest.mark.parametrize("steps", [0, 40])
def test_an_evaluation_with_gradients_at_the_end_is_no_step(steps: int) -> None:
    def body() -> None:
        model = mlp(12, 32, 4)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for x, y in pictures(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model(torch.randn(4, 12))

    if steps:
        assert watched(body, "trains_without_nan").steps == steps
    else:
        with pytest.raises(NotATraining):
            watched(body, "trains_without_nan")


# -- several trainings in one test ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "check", "cause"),
    [
        ("not held", FLOW, "parameters-not-in-optimizer"),
        ("eval", FLOW, "wrong-mode"),
        ("double softmax", MEMORY, "double-softmax"),
    ],
)
def test_the_second_of_two_trainings(fault: str, check: str, cause: str) -> None:
    verdict = watched(lambda: loops.two_in_turn(fault), check)
    assert verdict.findings[0].cause == cause
    assert verdict.findings[0].confirmed
    assert "this is training 2 of the 2 in this test, one after the other" in verdict.notes


@pytest.mark.parametrize("check", [FLOW, MEMORY, "learns_from_data"])
def test_two_healthy_trainings(check: str) -> None:
    verdict = watched(lambda: loops.two_in_turn("none"), check)
    assert verdict.passed, verdict
    assert verdict.steps == 96  # of the second


def test_what_was_made_for_another_test_is_nothing_that_is_trained() -> None:
    def body() -> None:
        other = mlp(12, 32, 4)
        unused = torch.optim.SGD(other.parameters(), 0.1)
        loops.losses("none").run()
        del unused

    assert watched(body, FLOW).passed


def test_what_a_watched_loop_raises_is_explained() -> None:
    def body() -> None:
        model = mlp(12, 32, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for x, y in pictures():
            optimizer.zero_grad()
            F.binary_cross_entropy(model(x).squeeze(1), (y > 1).float()).backward()
            optimizer.step()

    verdict = watched(body, FLOW)
    assert verdict.findings[0].cause == "missing-activation-for-loss"


def test_what_raises_before_anything_is_trained_is_raised() -> None:
    def body() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        watched(body, FLOW)


def test_a_parameter_made_in_a_returned_step_wakes_nobody_up() -> None:
    """The test that returned it was watched until it returned; later nothing may be hung on modules any more."""

    def factory() -> Training:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)

        def step(batch: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            model.bias = nn.Parameter(model.bias.detach().clone())
            return loss

        return Training(model, optimizer, step=step, data=torch.randn(8, 4))

    before = dict(_global_forward_pre_hooks)
    examine(factory, Request(MEMORY, "it", 0, {}))
    assert dict(_global_forward_pre_hooks) == before
