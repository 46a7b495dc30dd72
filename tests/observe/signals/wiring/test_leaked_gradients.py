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


def recorded(model: nn.Module, optimizers: list[torch.optim.Optimizer], step: Any) -> dict[str, object]:
    training = Training(model, optimizers, step=step, data=[torch.randn(8, 4) for _ in range(4)])
    plan = RunPlan(max_steps=4).looking(Look(("leaked_gradients",)))
    return TrainingProgram(Start(training, seed=0)).record(plan).wiring.leaked_gradients


def actor_first(*, spare: str) -> dict[str, object]:
    """The critic's own pass pulls its undecided scores up, as the actor's does: both directions are nearly the same."""
    torch.manual_seed(0)
    model = nn.ModuleDict({"actor": nn.Linear(4, 2), "critic": nn.Linear(6, 1)})
    of_actor = torch.optim.Adam(model["actor"].parameters(), lr=0.01)
    of_critic = torch.optim.SGD(model["critic"].parameters(), lr=0.001)

    def step(state: Tensor) -> Tensor:
        model.zero_grad()
        if spare == "frozen":
            model["critic"].requires_grad_(False)
        action = model["actor"](state)
        (-model["critic"](torch.cat([state, action], 1)).mean()).backward()
        of_actor.step()
        if spare == "frozen":
            model["critic"].requires_grad_(True)
        if spare == "cleared":
            for parameter in model["critic"].parameters():
                parameter.grad = None
        loss = (model["critic"](torch.cat([state, action.detach()], 1)) - 9).pow(2).mean()
        loss.backward()
        of_critic.step()
        return loss.detach()

    return recorded(model, [of_actor, of_critic], step)


def test_a_pass_of_its_own_is_another_loss_however_alike_they_are() -> None:
    assert actor_first(spare="") == {"SGD": {0: "Adam", 1: "Adam", 2: "Adam", 3: "Adam"}}


@pytest.mark.parametrize("spare", ["frozen", "cleared"])
def test_the_pass_of_the_actor_leaves_nothing(spare: str) -> None:
    assert actor_first(spare=spare) == {}


def test_left_from_the_step_before() -> None:
    """The critic's turn comes first, and what clears it comes after its own pass."""
    torch.manual_seed(0)
    model = nn.ModuleDict({"maker": nn.Linear(4, 4), "critic": nn.Linear(4, 1)})
    of_maker = torch.optim.SGD(model["maker"].parameters(), lr=0.01)
    of_critic = torch.optim.Adam(model["critic"].parameters(), lr=0.01)

    def step(real: Tensor) -> Tensor:
        made = model["maker"](torch.randn(8, 4))
        loss = (model["critic"](real) - 1).pow(2).mean() + model["critic"](made.detach()).pow(2).mean()
        loss.backward()
        of_critic.step()
        of_critic.zero_grad()
        of_maker.zero_grad()
        (model["critic"](made) - 1).pow(2).mean().backward()
        of_maker.step()
        return loss.detach()

    assert recorded(model, [of_maker, of_critic], step) == {"Adam": {1: "SGD", 2: "SGD", 3: "SGD"}}
