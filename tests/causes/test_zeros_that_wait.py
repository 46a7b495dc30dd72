"""Weights that start at 0 and wait for each other, and units that are 0 before a sigmoid that seems stuck."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


def found(model: nn.Module, data: list[tuple[Tensor, Tensor]], check: str = "gradients_flow") -> list[tuple[str, str]]:
    def make() -> Training:
        optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 1e-2)
        return Training(model, optimizer, lambda model, batch: F.mse_loss(model(batch[0]), batch[1]), data)

    verdict = examine(make(), Request(check, "zeros", 0, {}))
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


class Factors(nn.Module):
    def __init__(self, *spreads: float) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(12, 8), nn.Embedding(9, 8)
        self.bias = nn.Embedding(12, 1)
        for table, spread in zip((self.users, self.items), spreads, strict=True):
            nn.init.normal_(table.weight, std=spread)

    def forward(self, pairs: Tensor) -> Tensor:
        users, items = pairs.unbind(1)
        return (self.users(users) * self.items(items)).sum(1) + self.bias(users).squeeze(1)


def ratings() -> list[tuple[Tensor, Tensor]]:
    pairs = torch.stack((torch.randint(0, 12, (128,)), torch.randint(0, 9, (128,))), 1)
    return list(zip(pairs.split(32), torch.randn(12, 9)[pairs[:, 0], pairs[:, 1]].split(32), strict=True))


def test_two_tables_of_zeros_that_are_multiplied() -> None:
    assert found(Factors(0.0, 0.0), ratings()) == [("bad-initialization", "confirmed")]


@pytest.mark.parametrize("spreads", [(0.0, 0.1), (0.1, 0.1)])
def test_one_of_them_may_be_zero(spreads: tuple[float, float]) -> None:
    assert found(Factors(*spreads), ratings()) == []


class BothZero(nn.Module):
    """An adapter beside a frozen layer, none of whose factors can begin."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(6, 6).requires_grad_(False)
        self.lora_a, self.lora_b = nn.Parameter(torch.zeros(6, 6)), nn.Parameter(torch.zeros(6, 6))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.base(inputs) + inputs @ self.lora_a.T @ self.lora_b.T


@pytest.mark.parametrize("check", ["gradients_flow", "overfits_one_batch"])
def test_unfreezing_the_rest_would_only_go_around_it(check: str) -> None:
    inputs = torch.randn(64, 6)
    data = list(zip(inputs.split(16), (inputs @ torch.randn(6, 6)).split(16), strict=True))
    assert found(BothZero(), data, check)[:1] == [("bad-initialization", "confirmed")]


def test_a_sigmoid_behind_dead_units_is_not_to_blame() -> None:
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    nn.init.constant_(model[0].bias, -60.0)
    nn.init.constant_(model[2].bias, -6.0)
    inputs = torch.randn(64, 6)
    data = list(zip(inputs.split(16), (inputs[:, :1] > 0).float().split(16), strict=True))
    assert found(model, data)[:1] == [("dead-activations", "confirmed")]
