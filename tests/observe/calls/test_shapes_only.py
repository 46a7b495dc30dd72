"""Shapes that a model works out on the meta device, in the middle of a training, say nothing about that training."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose


class BuiltWhenUsed(nn.Module):
    """It learns the size of its head from a pass without values."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(8, 32), nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        shape = torch.sigmoid(torch.relu(torch.empty(len(x), 32, device="meta"))).shape
        return self.head(F.relu(self.first(x)).reshape(shape))


def training() -> Training:
    model, x = BuiltWhenUsed(), torch.randn(128, 8)
    data = list(zip(x.split(16), x[:, :3].argmax(1).split(16), strict=True))
    return Training(
        model, torch.optim.Adam(model.parameters(), 1e-2), lambda m, b: F.cross_entropy(m(b[0]), b[1]), data
    )


def test_a_training_that_learns_passes() -> None:
    report = diagnose(training)
    assert [f"{verdict.check}: {verdict.reason}" for verdict in report.verdicts if not verdict.passed] == []
