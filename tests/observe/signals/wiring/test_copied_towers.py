"""A siamese network has one tower: a copy of it drifts away. Other networks may start with equal parts."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


def tower() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left = tower()
        self.right = copy.deepcopy(self.left)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return (self.left(a) - self.right(b)).square().mean(1)


class OneTower(Siamese):
    """Siamese, as it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.right = self.left


class OwnTowers(Siamese):
    """Pseudo-siamese: each side learns on its own."""


class TwoStarts(Siamese):
    """Siamese in its name only: the towers start apart."""

    def __init__(self) -> None:
        super().__init__()
        self.right = tower()


class BiEncoder(nn.Module):
    """Questions and answers begin with the same pretrained weights."""

    def __init__(self) -> None:
        super().__init__()
        self.left = tower()
        self.right = copy.deepcopy(self.left)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return (self.left(a) * self.right(b)).mean(1)


def found(kind: type[nn.Module], frozen: bool = False) -> list[tuple[str, str]]:
    def make() -> Training:
        model = kind()
        if frozen:
            model.right.requires_grad_(False)
        a, b = torch.randn(64, 8), torch.randn(64, 8)
        data = list(zip(a.split(16), b.split(16), (a * b).mean(1).split(16), strict=True))
        optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 1e-2)
        return Training(model, optimizer, lambda m, batch: F.mse_loss(m(batch[0], batch[1]), batch[2]), data)

    verdict = examine(make, Request("gradients_flow", "loop", 0, {}))
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


def test_two_towers_where_one_was_meant() -> None:
    assert found(Siamese) == [("tied-weights-broken", "likely")]


@pytest.mark.parametrize("kind", [OneTower, OwnTowers, TwoStarts, BiEncoder])
def test_towers_as_they_are_meant(kind: type[nn.Module]) -> None:
    assert found(kind) == []


def test_a_frozen_copy_is_no_tower_of_its_own() -> None:
    assert found(Siamese, frozen=True) == []
