"""accumulates_exactly where losses are quotients of sums: one batch has the quotient of all sums, not their mean."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.signals.state.quotients import QuotientPasses, apart_in_direction, quotient_of


def tversky(logits: Tensor, targets: Tensor) -> Tensor:
    p, t = logits.sigmoid().flatten(), targets.flatten()
    hits = (p * t).sum()
    return 1 - (hits + 1e-3) / (hits + 0.7 * (p * (1 - t)).sum() + 0.3 * ((1 - p) * t).sum() + 1e-3)


def explained(outputs: Tensor, targets: Tensor) -> Tensor:
    """Minus the share of what is predicted: normalised by the size of the predictions."""
    return -(outputs * targets).sum() / (outputs.abs().sum() + 1.0)


def tversky_of_each(logits: Tensor, targets: Tensor) -> Tensor:
    return torch.stack([tversky(one, t) for one, t in zip(logits, targets, strict=True)]).mean()


class Warmth(nn.Module):
    """Its loss is divided by a temperature that is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.temperature = nn.Linear(6, 5), nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


def factory(loss: Any, passes: int, *, model: Any = None, over_temperature: bool = False) -> Any:
    def training() -> Training:
        net = model() if model is not None else nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5))
        optimizer = torch.optim.SGD(net.parameters(), 0.05)
        weight = torch.randn(6, 5)
        data = [(x, (x @ weight > 2 * torch.rand(8, 1)).float()) for x in torch.randn(4, 8, 6)]

        def step(batch: Any) -> Tensor:
            optimizer.zero_grad()
            total = torch.zeros(())
            for inputs, targets in zip(batch[0].chunk(passes), batch[1].chunk(passes), strict=True):
                part = loss(net(inputs), targets) / passes
                part = part / net.temperature if over_temperature else part
                part.backward()
                total += part.detach()
            optimizer.step()
            return total

        return Training(net, optimizer, step=step, data=data)

    return training


def verdict(training: Any) -> Any:
    (found,) = diagnose(training, ["accumulates_exactly"]).verdicts
    return found


@pytest.mark.parametrize("loss", [tversky, explained])
def test_a_quotient_over_the_samples_of_a_pass_is_named(loss):
    found = verdict(factory(loss, 4))
    assert found.failed
    assert found.findings[0].cause == "accumulation-not-scaled"
    assert found.findings[0].statement == "a mean of 4 quotients, each over the samples of one pass"


@pytest.mark.parametrize(
    "training",
    [
        factory(tversky_of_each, 4),  # the mean over samples of a quotient of each
        factory(tversky, 8),  # one sample in each pass: that is the same
        factory(lambda y, t: (y - t).pow(2).sum() / 8, 4, model=Warmth, over_temperature=True),
        factory(lambda y, t: ((y - t).pow(2) * t).sum() / t.sum().clamp(min=1), 4),  # the mask has no gradient
    ],
    ids=["of each sample", "one sample a pass", "a learnt temperature", "a mask"],
)
def test_quotients_of_another_kind_are_not_called_that(training):
    found = verdict(training)
    assert not any("quotients" in finding.statement for finding in found.findings)


def test_the_gradient_of_one_batch_is_exact():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5)).double()
    inputs, targets = torch.randn(12, 6).double(), torch.rand(12, 5).round().double()
    parameters = dict(model.named_parameters())

    def loss(x: Tensor, t: Tensor) -> Tensor:
        p = model(x).sigmoid()
        return 1 - 2 * (p * t).sum() / (p.sum() + t.sum())

    whole = torch.autograd.grad(loss(inputs, targets), list(parameters.values()))
    passes = QuotientPasses()
    for x, t in zip(inputs.split(4), targets.split(4), strict=True):
        root = 0.25 * loss(x, t)
        passes.begins(root, len(x), parameters)
        for name, gradient in zip(parameters, torch.autograd.grad(root, list(parameters.values())), strict=True):
            passes.added(name, gradient)
        passes.ends()
    found = passes.of_one_batch(parameters)
    assert found is not None
    one, other = (torch.cat([g.flatten() for g in each]) for each in (found.values(), whole))
    factor, error = apart_in_direction(one, other)
    assert factor == pytest.approx(-1.0)  # the loss is 1 minus this quotient
    assert error < 1e-9
    assert all(p.grad is None for p in parameters.values())


def test_a_mean_is_no_quotient():
    x = torch.rand(5, requires_grad=True)
    assert quotient_of(x.mean() / 4, {"x": x}) is None
    assert quotient_of(x.pow(2).sum() / x.abs().sum(), {"x": x}) is not None
    assert quotient_of(x.sum() / x.pow(2).sum().sqrt(), {"x": x}) is None  # a norm of all is not the sum of norms
