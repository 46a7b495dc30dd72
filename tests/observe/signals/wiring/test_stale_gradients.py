"""Which gradients are stale, and which only look like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

X, Y = torch.randn(8, 4), torch.randint(0, 3, (8,))


def flow(make: Callable[[], Training]) -> Verdict:
    return examine(make, Request("gradients_flow", "stale", 0, {}))


def test_a_generator_pass_that_reaches_the_discriminator() -> None:
    """It leaves gradients there; the discriminator clears them before its own pass."""

    def gan() -> Training:
        generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        g, d = torch.optim.Adam(generator.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)

        def step(real: torch.Tensor) -> torch.Tensor:
            d.zero_grad()
            fake = generator(torch.randn(8, 2))
            d_loss = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
            d_loss.backward()
            d.step()
            g.zero_grad()
            g_loss = F.softplus(-critic(fake)).mean()
            g_loss.backward()
            g.step()
            return d_loss + g_loss

        return Training({"generator": generator, "critic": critic}, {"g": g, "d": d}, data=X, step=step)

    assert flow(gan).passed


def test_accumulated_on_purpose() -> None:
    def accumulating() -> Training:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        calls = 0

        def step(batch: Any) -> torch.Tensor:
            nonlocal calls
            loss = F.cross_entropy(model(batch[0]), batch[1]) / 4
            loss.backward()
            calls += 1
            if calls % 4 == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
            return loss

        return Training(model, optimizer, data=(X, Y), step=step)

    assert flow(accumulating).passed


def test_cleared_at_the_end_of_a_step() -> None:
    def tidy() -> Training:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(batch: Any) -> torch.Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            for parameter in model.parameters():
                parameter.grad = None  # by hand
            return loss

        return Training(model, optimizer, data=(X, Y), step=step)

    assert flow(tidy).passed


def test_never_cleared() -> None:
    def untidy() -> Training:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(batch: Any) -> torch.Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            return loss

        return Training(model, optimizer, data=(X, Y), step=step)

    verdict = flow(untidy)
    assert verdict.findings[0].cause == "missing-zero-grad"
    assert verdict.findings[0].confirmed
