"""Weights that another part of the model computes, and parameters that nothing reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict


def flow(model: nn.Module) -> Verdict:
    def make() -> Training:
        x = torch.randn(64, 6)
        data = list(zip(x.split(16), x.sum(1, keepdim=True).sin().split(16), strict=True))
        return Training(model, torch.optim.Adam(model.parameters(), 1e-3), lambda m, b: F.mse_loss(m(b[0]), b[1]), data)

    return examine(make, Request("gradients_flow", "loop", 0, {}))


class Hyper(nn.Module):
    def __init__(self, write: Callable[[nn.Linear, Tensor], object]) -> None:
        super().__init__()
        self.code, self.maker = nn.Parameter(torch.randn(1, 4)), nn.Linear(4, 48)
        self.layer, self.out, self.write = nn.Linear(6, 8), nn.Linear(8, 1), write

    def forward(self, x: Tensor) -> Tensor:
        self.write(self.layer, self.maker(self.code).view(8, 6))
        return self.out(torch.tanh(self.layer(x)))


def assigned(layer: nn.Linear, weight: Tensor) -> None:
    layer.weight.data = weight


def copied(layer: nn.Linear, weight: Tensor) -> None:
    layer.weight.data.copy_(weight)


@pytest.mark.parametrize("write", [assigned, copied])
def test_weights_that_are_written_into_data_lose_their_graph(write: Callable[[nn.Linear, Tensor], object]) -> None:
    finding = flow(Hyper(write)).findings[0]
    assert finding.cause == "disconnected-graph"
    assert any(e.text.startswith("the graph ends at .data") for e in finding.evidence)


class Positions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positions, self.out = nn.Parameter(torch.randn(1, 6)), nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


def test_a_parameter_that_nothing_reads_does_not_run() -> None:
    finding = flow(Positions()).findings[0]
    assert (finding.cause, finding.statement) == ("unused-parameters", "positions is made but never used")
    assert finding.fix is not None
    assert finding.fix.instruction == "use it in forward(), or remove it from the model"
