"""Optimizers that are stepped between their turns: some move on without a gradient, some do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis import unmoved, wiring
from pytest_trainhealth.programs.watched_program import watch
from pytest_trainhealth.records.trace import Trace

Make = Callable[[nn.Module], Optimizer]


def in_turns(make: Make, *, every: int, to_none: bool = False, only_when_due: bool = False, steps: int = 24) -> Trace:
    """A second network that learns now and then, from what it makes of the first one's output."""
    torch.manual_seed(0)
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    of_first, of_second = Adam(first.parameters(), 1e-3), make(second)
    with watch(signals=("coasting", "stale_gradients")) as trace:
        for number in range(steps):
            x = torch.randn(8, 4)
            of_first.zero_grad()
            first(x).square().mean().backward()
            of_first.step()
            of_second.zero_grad(set_to_none=to_none)
            due = number % every == 0
            if due:
                (second(first(x).detach()) - 1).square().mean().backward()
            if due or not only_when_due:
                of_second.step()
    return trace


@pytest.mark.parametrize("every", [2, 3, 8])
@pytest.mark.parametrize(
    "make",
    [
        lambda model: Adam(model.parameters(), 1e-2),
        lambda model: SGD(model.parameters(), 0.1, momentum=0.9),
        lambda model: SGD(model.parameters(), 0.1, weight_decay=0.1),
    ],
    ids=["Adam", "momentum", "weight decay"],
)
def test_it_moves_between_its_turns(make: Make, every: int) -> None:
    found = unmoved.coasts(in_turns(make, every=every))
    assert found is not None
    assert found.place is not None
    assert "of_second.step()" in found.place.code


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda model: Adam(model.parameters(), 1e-2), {"to_none": True}),
        (lambda model: Adam(model.parameters(), 1e-2), {"only_when_due": True}),
        (lambda model: SGD(model.parameters(), 0.1), {}),
    ],
    ids=["gradients are None", "stepped when due", "plain SGD stands still"],
)
def test_it_waits_for_its_turn(make: Make, facts: dict[str, bool]) -> None:
    assert unmoved.coasts(in_turns(make, every=3, **facts)) is None


def test_a_pass_that_comes_to_it_with_nothing_is_a_pass() -> None:
    """A hinge that is kept: its gradient is 0 by nature, and the loop is as it should be."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizers = Adam(first.parameters(), 1e-3), Adam(second.parameters(), 1e-3)
    with watch(signals=("coasting",)) as trace:
        for number in range(24):
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=False)
            x = torch.randn(8, 4)
            hinge = torch.relu(second(first(x).detach()) + (9 if number % 3 == 0 else -9)).mean()
            (first(x).square().mean() + hinge).backward()
            for optimizer in optimizers:
                optimizer.step()
    assert unmoved.coasts(trace) is None


def test_another_pass_leaves_nothing_stale() -> None:
    """Cleared after the first network's pass has begun, and stepped with zeros: these are nobody's old gradients."""
    trace = in_turns(lambda model: Adam(model.parameters(), 1e-2), every=3)
    assert wiring.piling_up(trace) == {}


def test_gradients_that_are_taken_by_hand_are_not_stale() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    of_first, of_second = Adam(first.parameters(), 1e-3), Adam(second.parameters(), 1e-3)
    with watch(signals=("stale_gradients",)) as trace:
        for _ in range(6):
            x = torch.randn(8, 4)
            of_first.zero_grad()
            first(x).square().mean().backward()
            of_first.step()
            of_second.zero_grad()
            loss = second(first(x).detach()).square().mean()
            for parameter, grad in zip(
                second.parameters(), torch.autograd.grad(loss, list(second.parameters())), strict=True
            ):
                parameter.grad = grad
            of_second.step()
    assert wiring.piling_up(trace) == {}


def test_a_critic_and_an_actor_with_a_pause() -> None:
    def training(*, always: bool) -> Training:
        model = nn.ModuleDict({"actor": nn.Linear(4, 2), "critic": nn.Linear(6, 1)})
        of_actor = Adam(model["actor"].parameters(), 1e-2)
        of_critic = Adam(model["critic"].parameters(), 1e-2)
        taken = [0]

        def step(batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
            state, action, reward = batch
            taken[0] += 1
            loss = (model["critic"](torch.cat([state, action], 1)) - reward).square().mean()
            of_critic.zero_grad()
            loss.backward()
            of_critic.step()
            due = taken[0] % 6 == 0
            if due:
                of_actor.zero_grad(set_to_none=False)
                (-model["critic"](torch.cat([state, model["actor"](state).tanh()], 1)).mean()).backward()
            if due or always:
                of_actor.step()
                of_actor.zero_grad(set_to_none=False)
            return loss.detach()

        data = [(torch.randn(16, 4), torch.randn(16, 2), torch.randn(16, 1)) for _ in range(4)]
        return Training(model, [of_actor, of_critic], step=step, data=data)

    finding = diagnose(lambda: training(always=True), "gradients_flow").findings[0]
    assert (finding.cause, finding.certainty) == ("empty-optimizer-steps", "likely")
    assert diagnose(lambda: training(always=False), "gradients_flow").verdicts[0].passed
