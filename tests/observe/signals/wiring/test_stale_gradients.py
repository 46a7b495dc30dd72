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


def balanced(by_hand: bool) -> Callable[[], Training]:
    """Weights of two losses with an optimizer of their own, as in GradNorm: their gradient is written, or added up."""

    def make() -> Training:
        model, weights = nn.Linear(4, 3), nn.Parameter(torch.ones(2))
        optimizer, own = torch.optim.Adam(model.parameters(), 1e-3), torch.optim.Adam([weights], 1e-2)

        def step(batch: Any) -> torch.Tensor:
            output = model(batch[0])
            losses = torch.stack([F.cross_entropy(output, batch[1]), output.square().mean()])
            optimizer.zero_grad()
            (weights.detach() * losses).sum().backward(retain_graph=True)
            difference = (weights * losses.detach()).diff().abs().sum()
            if by_hand:
                weights.grad = torch.autograd.grad(difference, weights)[0]
            else:
                difference.backward()
            own.step()
            optimizer.step()
            return losses.sum()

        return Training(model, [optimizer, own], data=(X, Y), step=step)

    return make


def test_a_gradient_that_is_written_replaces_the_last_one() -> None:
    assert flow(balanced(by_hand=True)).passed


def test_a_gradient_that_is_added_beside_one_that_is_cleared() -> None:
    verdict = flow(balanced(by_hand=False))
    assert verdict.findings[0].cause == "missing-zero-grad"
    assert "Adam[1]" in verdict.findings[0].statement


def test_a_graph_of_its_own_does_not_hide_that_gradients_add_up() -> None:
    """Autograd then puts the sum in a new tensor."""

    def make() -> Training:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(batch: Any) -> torch.Tensor:
            loss = F.cross_entropy(model(batch[0]), batch[1])
            loss.backward(create_graph=True)
            optimizer.step()
            return loss

        return Training(model, optimizer, data=(X, Y), step=step)

    assert flow(make).findings[0].cause == "missing-zero-grad"
