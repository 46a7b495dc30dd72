"""Gradients that one optimizer's backward pass leaves for another: only those that work against it are reported."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram


def leaks(*, sign: float, clear: bool, joint: bool = False) -> dict[str, dict[int, str]]:
    """One part follows `loss`, the other `sign` times that of the first: nobody clears between the two."""
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.Sequential(body, head)
    first, second = torch.optim.SGD(body.parameters(), lr=0.01), torch.optim.Adam(head.parameters(), lr=0.01)

    def step(batch: Tensor) -> Tensor:
        first.zero_grad()
        loss = (model(batch) - 1).pow(2).mean()
        loss.backward()
        first.step()
        if clear:
            second.zero_grad()
        if not joint:
            loss = sign * (model(batch) - 1).pow(2).mean()
            loss.backward()
        second.step()
        second.zero_grad()
        return loss.detach()

    training = Training(model, [first, second], step=step, data=[torch.randn(8, 4) for _ in range(4)])
    plan = RunPlan(max_steps=4).looking(Look(("leaked_gradients",)))
    return TrainingProgram(Start(training, seed=0)).record(plan).wiring.leaked_gradients


def test_what_works_against_it_is_a_leak() -> None:
    assert leaks(sign=-1.0, clear=False) == {"Adam": {0: "SGD", 1: "SGD", 2: "SGD", 3: "SGD"}}


@pytest.mark.parametrize(
    ("sign", "clear", "joint"),
    [(-1.0, True, False), (1.0, False, False), (1.0, False, True)],
    ids=["cleared", "the same direction", "one backward pass for both"],
)
def test_no_leak(sign: float, clear: bool, joint: bool) -> None:
    assert leaks(sign=sign, clear=clear, joint=joint) == {}


def test_what_it_has_used_and_clears_before_its_own_pass_is_no_leak() -> None:
    """A critic takes two turns for each of the generator, whose used gradients lie there until its own turn."""
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.Sequential(body, head)
    generator, critic = torch.optim.SGD(body.parameters(), lr=0.01), torch.optim.Adam(head.parameters(), lr=0.01)

    def step(batch: Tensor) -> Tensor:
        for _ in range(2):
            critic.zero_grad()
            (head(body(batch).detach()) - 1).pow(2).mean().backward()
            critic.step()
        generator.zero_grad()
        loss = -(model(batch) - 1).pow(2).mean()
        loss.backward()
        generator.step()
        return loss.detach()

    training = Training(model, [generator, critic], step=step, data=[torch.randn(8, 4) for _ in range(4)])
    plan = RunPlan(max_steps=4).looking(Look(("leaked_gradients",)))
    assert TrainingProgram(Start(training, seed=0)).record(plan).wiring.leaked_gradients == {}
