"""Rounding keeps the graph and lets no gradient through, and an index has none: what is behind them is disconnected."""

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


class Routed(nn.Module):
    """Each sample goes through the expert with the highest score."""

    def __init__(self, weighs: bool, uses: bool) -> None:
        super().__init__()
        self.router, self.experts = nn.Linear(8, 2), nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.weighs, self.uses = weighs, uses

    def forward(self, x: Tensor) -> Tensor:
        score, chosen = self.router(x).softmax(-1).max(-1)
        if not self.uses:
            return self.experts[0](x) + self.experts[1](x)
        y = torch.where((chosen == 0)[:, None], self.experts[0](x), self.experts[1](x))
        return y * score[:, None] if self.weighs else y


def routed(weighs: bool = False, uses: bool = True) -> Training:
    model = Routed(weighs, uses)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    return Training(model, optimizer, lambda m, x: F.mse_loss(m(x), x), [torch.randn(16, 8) for _ in range(4)])


def test_a_router_of_which_only_the_index_is_used() -> None:
    found = diagnose(routed, "gradients_flow").findings[0]
    assert (found.cause, found.why) == ("disconnected-graph", "the index of max() ends the graph")
    assert found.location is not None
    assert "max(-1)" in found.location.code


def test_an_index_that_nothing_uses_ends_no_graph() -> None:
    found = diagnose(lambda: routed(uses=False), "gradients_flow").findings[0]
    assert found.cause == "unused-parameters"


def test_a_router_whose_score_weighs() -> None:
    assert diagnose(lambda: routed(weighs=True), "gradients_flow").healthy
