"""Whatever form a step has, it is judged: returned as a `Training`, and watched in a loop that returns nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

from .forms import FORMS, Foreign, Form, Net, by_derivatives, loss_of, without_data
from .loops import pictures

MISSING = "parameters-not-in-optimizer"
#: What a fault is called in each form, where not by its usual name; "" where the form cannot have it.
NAMES = {
    ("by_derivatives", "head"): "disconnected-graph",
    ("by_derivatives", "zero"): "",
}


def examined(form: Callable[[str], Form], fault: str, how: str, check: str = "gradients_flow") -> Verdict:
    def body() -> Training | None:
        made = form(fault)
        if how == "returned":
            return made.training()
        made.run()
        return None

    return examine(body, Request(check, "form", 0, {}))


@pytest.mark.parametrize("how", ["returned", "watched"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("check", ["gradients_flow", "trains_without_nan"])
def test_a_healthy_step_passes(form: Callable[[str], Form], how: str, check: str) -> None:
    assert examined(form, "none", how, check).passed


@pytest.mark.parametrize("how", ["returned", "watched"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize(("fault", "cause"), [("head", MISSING), ("zero", "missing-zero-grad")])
def test_its_faults_are_found(form: Callable[[str], Form], how: str, fault: str, cause: str) -> None:
    cause = NAMES.get((form.__name__, fault), cause)
    verdict = examined(form, fault, how)
    assert [each.cause for each in verdict.findings[:1]] == ([cause] if cause else [])
    assert verdict.passed == (not cause)


@pytest.mark.parametrize("check", ["overfits_one_batch", "uses_its_input", "learns_from_data"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_no_check_raises_the_alarm(form: Callable[[str], Form], check: str) -> None:
    """What it cannot judge of a loop without data, say, it says."""
    verdict = examined(form, "none", "returned", check)
    assert verdict.passed or verdict.reason, verdict


def test_a_step_that_shows_no_loss_says_so() -> None:
    """Its gradients come from nowhere that anybody could see; nothing is returned either."""

    def factory() -> Training:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(batch: object) -> None:
            for each in model.parameters():
                each.grad = 0.01 * torch.randn_like(each)
            optimizer.step()

        return Training(model, optimizer, step=step, data=pictures())

    verdict = examine(factory, Request("overfits_one_batch", "form", 0, {}))
    assert not verdict.passed
    assert not verdict.failed
    assert "no loss was seen" in verdict.reason


def test_a_step_without_data_may_want_a_batch() -> None:
    def factory() -> Training:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(batch: object = None) -> None:
            assert batch is None
            optimizer.zero_grad()
            loss_of(model, pictures(1)[0]).backward()
            optimizer.step()

        return Training(model, optimizer, step=step)

    assert examine(factory, Request("gradients_flow", "form", 0, {})).passed


def test_only_a_step_may_do_without_data_or_with_an_optimizer_of_others() -> None:
    model = Net()
    optimizer = Foreign(list(model.parameters()), 0.1)
    with pytest.raises(TypeError, match=r"optimizer has to be a torch\.optim\.Optimizer"):
        Training(model, optimizer, loss=loss_of, data=pictures())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Training needs data="):
        Training(model, torch.optim.SGD(model.parameters(), 0.1), loss=loss_of)


def test_the_state_of_an_optimizer_of_others_is_put_back() -> None:
    model = Net()
    optimizer = Foreign(list(model.parameters()), 0.02)

    def step(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()

    before = model.head.weight.detach().clone()
    training = Training(model, optimizer, step=step, data=pictures())  # type: ignore[arg-type]
    diagnose(training, checks=["gradients_flow"])
    assert torch.equal(model.head.weight, before)
    assert not any(each.any() for each in optimizer.momenta)


def test_what_is_not_handed_to_autograd_grad_gets_no_gradient() -> None:
    verdict = examined(by_derivatives, "head", "returned")
    assert verdict.symptom is not None
    assert "head" in verdict.symptom.headline


def test_a_loop_without_data_can_be_built_anew() -> None:
    assert without_data("none").training().data is None


def test_a_condition_reaches_what_is_compiled() -> None:
    """The control run on zeroed inputs, which a compiled graph would never ask for."""

    def factory() -> Training:
        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), 3e-3)
        compiled = torch.compile(model, backend="eager")

        def step(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
            optimizer.zero_grad()
            loss_of(compiled, batch).backward()
            optimizer.step()

        return Training(model, optimizer, step=step, data=pictures())

    assert examine(factory, Request("learns_from_data", "form", 0, {})).passed
