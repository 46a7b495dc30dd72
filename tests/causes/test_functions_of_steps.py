"""Rounding keeps the graph and lets no gradient through: everything behind it is disconnected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose


class Codec(nn.Module):
    def __init__(self, quantise: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.encoder, self.decoder, self.quantise = nn.Linear(8, 6), nn.Linear(6, 8), quantise

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.quantise(self.encoder(x)))


def training(quantise: Callable[[Tensor], Tensor]) -> Training:
    model = Codec(quantise)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), 1e-2),
        loss=lambda model, x: F.mse_loss(model(x), x),
        data=[torch.randn(16, 8) for _ in range(4)],
    )


@pytest.mark.parametrize("function", [torch.round, torch.floor, torch.sign], ids=lambda f: f.__name__)
def test_what_is_behind_a_function_of_steps(function: Callable[[Tensor], Tensor]) -> None:
    found = diagnose(lambda: training(lambda z: function(4 * z) / 4), "gradients_flow").findings[0]
    assert found.cause == "disconnected-graph"
    assert f"{function.__name__}()" in found.why


def test_a_straight_through_estimator_passes() -> None:
    assert diagnose(lambda: training(lambda z: z + (z.round() - z).detach()), "gradients_flow").healthy
