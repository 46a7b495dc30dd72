"""`loss.backward(gradient=factor)` is seen as the backward pass of `factor * loss`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.run.given_gradients import begins_at, with_its_gradient
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.watched_program import WatchedProgram


def _data() -> list[tuple[Tensor, Tensor]]:
    drawn = torch.Generator().manual_seed(0)
    inputs = torch.randn(8, 16, 8, generator=drawn)
    return [(batch, batch[:, :4].argmax(1)) for batch in inputs]


def _training(factor: float) -> Training:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward(gradient=torch.tensor(factor))  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=_data())


def test_a_sign_that_is_given_turns_the_training_round() -> None:
    """It was once a learning rate that is too high, confirmed by re-runs that went wrong more slowly."""
    findings = diagnose(lambda: _training(-1.0), ["learns_from_data"]).findings
    assert [(each.cause, each.certainty) for each in findings][:1] == [("wrong-loss-sign", "confirmed")]
    assert not [each for each in findings if each.cause == "lr-too-high"]


def test_a_factor_of_one_is_nothing() -> None:
    assert diagnose(lambda: _training(1.0), ["learns_from_data", "gradients_flow"]).healthy


@pytest.mark.parametrize("given", ["divided before", "method", "keyword", "function"])
def test_passes_divided_by_their_number(given: str) -> None:
    def backward(loss: Any) -> None:
        quarter = torch.tensor(0.25)
        if given == "divided before":
            (loss / 4).backward()
        elif given == "method":
            loss.backward(quarter)
        elif given == "keyword":
            loss.backward(gradient=quarter)
        else:
            torch.autograd.backward([loss], [quarter])

    def body() -> None:
        model = nn.Linear(8, 4)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            for inputs, target in _data()[:4]:
                backward(F.cross_entropy(model(inputs), target))
            optimizer.step()

    trace = WatchedProgram(body, 0).record(RunPlan(max_steps=0, look=Look(("accumulations",))))
    assert [(each.passes, each.factor) for each in trace.wiring.accumulations] == [(4, 0.25)] * 3


def test_what_is_left_alone() -> None:
    number, vector = torch.ones((), requires_grad=True) * 2, torch.ones(3, requires_grad=True) * 2
    for root, given in ((number, None), (vector, torch.ones(3)), (torch.ones(()), torch.ones(()))):
        assert with_its_gradient([root], (given,), {})[0] is root
    (product,) = with_its_gradient([number], (), {"gradient": torch.tensor(3.0)})
    assert float(product) == 6.0
    assert begins_at(product) is number
    assert begins_at(number) is number
