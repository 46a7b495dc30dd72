"""Gradients that one optimizer's backward pass leaves for another, which may be meant to add up, or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram


def leaks(*, sign: float = -1.0, clear: bool = False, joint: bool = False, trunk: bool = False) -> dict[str, object]:
    """One part follows a loss, the other `sign` times a second one: nobody clears between the two.

    `trunk`: it is the later part's pass that comes first.
    """
    torch.manual_seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    model = nn.Sequential(body, head)
    first, second = torch.optim.SGD(body.parameters(), lr=0.01), torch.optim.Adam(head.parameters(), lr=0.01)
    if trunk:
        first, second = torch.optim.SGD(head.parameters(), lr=0.01), torch.optim.Adam(body.parameters(), lr=0.01)

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


def test_what_the_pass_of_an_earlier_part_leaves_on_a_later_one_is_a_leak() -> None:
    assert leaks() == {"Adam": {0: "SGD", 1: "SGD", 2: "SGD", 3: "SGD"}}


@pytest.mark.parametrize(
    "loop",
    [{"clear": True}, {"sign": 1.0}, {"joint": True}, {"trunk": True}],
    ids=["cleared", "the same loss", "one backward pass for both", "a trunk gets the losses of all"],
)
def test_no_leak(loop: dict[str, Any]) -> None:
    assert leaks(**loop) == {}


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
