"""overfits_one_batch where the targets are drawn anew at each step: no run gets near 0, whatever is cured."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose


class Denoiser(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 2)

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        return self.out(self.body(torch.cat([x, level], 1)))


def circle(count: int = 64) -> Tensor:
    angle = torch.rand(count, 1) * 6.28
    return torch.cat([angle.cos(), angle.sin()], 1)


def an_average_is_copied_back(sick: bool) -> Training:
    """Noise is predicted, and the average of the weights overwrites the weights."""
    model = Denoiser()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)

    def step(x: Tensor) -> Tensor:
        level, noise = torch.rand(len(x), 1), torch.randn_like(x)
        loss = F.mse_loss(model((1 - level) * x + level * noise, level), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                slow.lerp_(fast, 0.01)
                if sick:
                    fast.copy_(slow)
        return loss

    return Training(model, optimizer, step=step, data=circle())


def an_anchor_that_pulls(sick: bool) -> Training:
    """A flow along straight lines, whose weights are pulled to a stored copy after each step."""
    model = Denoiser()
    anchor = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(x: Tensor) -> Tensor:
        start, time = torch.randn_like(x), torch.rand(len(x), 1)
        loss = (model(start + time * (x - start), time) - (x - start)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if sick:
            for weight, kept in zip(model.parameters(), anchor, strict=True):
                weight.data += 0.9 * (kept - weight.data)
        return loss

    return Training(model, optimizer, step=step, data=circle())


def slow_weights_run_the_wrong_way(sick: bool) -> Training:
    """Two copies in one module, of which one follows the other; what is to be guessed is the noise on a sample."""
    both = nn.ModuleDict({"online": Denoiser(), "slow": Denoiser().requires_grad_(False)})
    both["slow"].load_state_dict(both["online"].state_dict())
    optimizer = torch.optim.RMSprop(both["online"].parameters(), lr=1e-3)

    def follow() -> None:
        leader, follower = ("slow", "online") if sick else ("online", "slow")
        with torch.no_grad():
            torch._foreach_lerp_(
                list(both[follower].parameters()), list(both[leader].parameters()), 0.97 if sick else 0.03
            )

    def step(x: Tensor) -> Tensor:
        noise = torch.randn_like(x)
        guess = both["online"](x + 2 * noise, torch.full((len(x), 1), 2.0))
        loss = F.mse_loss(guess, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow()
        return loss

    return Training(both, optimizer, step=step, data=circle())


PROGRAMS = (an_average_is_copied_back, an_anchor_that_pulls, slow_weights_run_the_wrong_way)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_updates_that_are_taken_back_are_confirmed(program: Callable[[bool], Training]) -> None:
    finding = diagnose(lambda: program(True), "overfits_one_batch").findings[0]
    assert (finding.cause, finding.certainty) == ("updates-lost", "confirmed")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_denoiser_that_keeps_its_updates_is_healthy(program: Callable[[bool], Training]) -> None:
    assert diagnose(lambda: program(False), "overfits_one_batch").healthy
