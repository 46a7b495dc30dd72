"""Tables whose numbers leave the finite range."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault
from .tabular import Table, fit, measurements, mlp


class Spending(nn.Module):
    """Looks at the share of each category in what a customer spends, beside what else is known."""

    def __init__(self, categories: int = 6, others: int = 4) -> None:
        super().__init__()
        self.net = mlp(categories + others)

    def forward(self, spent: Tensor, others: Tensor) -> Tensor:
        share = spent / (spent.sum(1, keepdim=True) + 1e-8)  # guilty
        return self.net(torch.cat([3 * share, others], 1))


@fault("low-precision-overflow", operation="div")
def tabular_epsilon_lost_in_half(broken: bool) -> Training:
    """The table is kept in float16 to save memory. There the 1e-8 that guards the shares is 0, and a customer who
    bought nothing is 0 / 0."""
    spent = torch.rand(256, 6).square() * 40
    spent[::37] = 0
    others = torch.randn(256, 4)
    share = spent / spent.sum(1, keepdim=True).clamp(min=1)
    y = 3 * (share @ torch.randn(6, 1)) + torch.tanh(others[:, :1])
    y = (y - y.mean()) / y.std()
    if broken:
        spent = spent.half()
    model = Spending()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.mse_loss(model(batch[0], batch[1]), batch[2]),
        data=loader(spent, others, y, batch_size=32),
    )


@fault("nan-in-data")
def tabular_log_of_no_visits(broken: bool) -> Training:
    """The number of visits is fed as its log; two customers have never been there, and the log of 0 is -Inf."""
    x, y = measurements()
    visits = torch.exp(1.5 + x[:, 0]).round().clamp(min=1)
    visits[[91, 180]] = 0
    x[:, 0] = torch.log(visits) if broken else torch.log1p(visits)
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, fit, DataLoader(Table(x, y), batch_size=32, shuffle=True))


@fault("lr-too-high")
def tabular_linear_regression_at_one(broken: bool) -> Training:
    """Plain linear regression on columns that go together, by SGD with lr=1: each step overshoots further than the last
    one, and after some thirty the error is infinite."""
    common = torch.randn(256, 1)
    x = 0.6 * common + 0.8 * torch.randn(256, 12)
    y = x @ torch.randn(12, 1) / 3 + 0.1 * torch.randn(256, 1)
    model = nn.Linear(12, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0 if broken else 0.05)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y, batch_size=32))


class ResidualTable(nn.Module):
    """A residual network for tables, twelve blocks deep."""

    def __init__(self, features: int = 8, width: int = 64, depth: int = 12) -> None:
        super().__init__()
        self.inlet = nn.Linear(features, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(depth)
        )
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.inlet(x)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


@fault("bad-initialization")
def tabular_residual_blocks_at_one(broken: bool) -> Training:
    """All weights drawn from the standard normal in twelve residual blocks of 64 units: each makes its input some fifty
    times as large, and the squared error does not fit into float32."""
    model = ResidualTable()
    if broken:
        for name, parameter in model.named_parameters():
            if name.endswith("weight"):
                nn.init.normal_(parameter)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(*measurements(), batch_size=32))
