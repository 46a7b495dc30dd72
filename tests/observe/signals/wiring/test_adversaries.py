"""A critic and its generator pull against each other; what only looks like help for the critic is not reported."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


def gan(critic_loss: Any, generator_loss: Any, *, outputs: int = 1, detached: bool = True) -> Any:
    def make() -> Training:
        generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, outputs))
        optimizers = {
            "generator": torch.optim.Adam(generator.parameters(), 1e-3),
            "critic": torch.optim.Adam(critic.parameters(), 1e-3),
        }

        def step(real: Tensor) -> float:
            fake = generator(torch.randn(len(real), 4))
            loss = critic_loss(critic(real), critic(fake.detach() if detached else fake))
            optimizers["critic"].zero_grad()
            loss.backward()
            optimizers["critic"].step()
            loss = generator_loss(critic(generator(torch.randn(len(real), 4))))
            optimizers["generator"].zero_grad()
            loss.backward()
            optimizers["generator"].step()
            return float(loss)

        models = {"generator": generator, "critic": critic}
        return Training(models, optimizers, step=step, data=[torch.randn(32, 2) + 2 for _ in range(8)])

    return make


def says(scores: Tensor, yes: bool) -> Tensor:
    return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, float(yes)))


HEALTHY = {
    "wasserstein": (lambda real, fake: fake.mean() - real.mean(), lambda fake: -fake.mean()),
    "scores the other way round": (lambda real, fake: real.mean() - fake.mean(), lambda fake: fake.mean()),
    "classic": (lambda real, fake: says(real, True) + says(fake, False), lambda fake: says(fake, True)),
    "saturating": (lambda real, fake: says(real, True) + says(fake, False), lambda fake: -says(fake, False)),
    "hinge": (lambda real, fake: F.relu(1 - real).mean() + F.relu(1 + fake).mean(), lambda fake: -fake.mean()),
    "least squares": (lambda real, fake: (real - 1).square().mean() + fake.square().mean(),
                      lambda fake: (fake - 1).square().mean()),
    "one class for both": (lambda real, fake: says(real, True) + says(fake, True), lambda fake: says(fake, True)),
}  # fmt: skip
FAULTY = {
    "wasserstein": (lambda real, fake: real.mean() - fake.mean(), lambda fake: -fake.mean()),
    "classic": (lambda real, fake: says(real, False) + says(fake, True), lambda fake: says(fake, True)),
    "generator": (lambda real, fake: fake.mean() - real.mean(), lambda fake: fake.mean()),
}


def flow(make: Any) -> Any:
    return examine(make, Request("gradients_flow", "gan", 1, {}))


@pytest.mark.parametrize("kind", HEALTHY)
def test_opponents_are_no_alarm(kind: str) -> None:
    assert flow(gan(*HEALTHY[kind])).passed


@pytest.mark.parametrize("kind", FAULTY)
def test_allies_are_told(kind: str) -> None:
    verdict = flow(gan(*FAULTY[kind]))
    assert verdict.failed
    assert verdict.findings[0].cause == "wrong-loss-sign"
    assert "critic" in verdict.findings[0].statement
    assert "critic(real), critic(fake.detach()" in verdict.findings[0].places[0].code


def test_where_turns_cannot_be_told_apart_nothing_is_said() -> None:
    assert flow(gan(*FAULTY["wasserstein"], detached=False)).passed
    assert flow(gan(*FAULTY["wasserstein"], outputs=3)).passed  # no scores, but features


def test_sparse_inputs_are_left_alone() -> None:
    """Two models with optimizers of their own, one of which is given a sparse batch: it has no memory to go by."""

    def make() -> Training:
        first, second = nn.Linear(4, 2), nn.Linear(2, 1)
        models = {"first": first, "second": second}
        optimizers = {name: torch.optim.SGD(model.parameters(), 1e-2) for name, model in models.items()}

        class Sparse(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return torch.sparse.mm(x, first.weight.t())

        lookup = Sparse()
        models["lookup"] = lookup

        def step(batch: Tensor) -> float:
            loss = second(lookup(batch.to_sparse())).square().mean() + first(batch).square().mean()
            for optimizer in optimizers.values():
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers.values():
                optimizer.step()
            return float(loss)

        return Training(models, optimizers, step=step, data=torch.rand(8, 4))

    assert not flow(make).findings
