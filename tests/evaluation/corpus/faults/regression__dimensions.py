"""A loss by hand whose sides have unlike shapes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pytest_trainhealth import Training

from ..healthy.toydata import curve, loader
from . import fault


@fault("target-shape-mismatch")
def log_cosh_of_all_pairs(broken: bool) -> Training:
    """(N, 1) minus (N,): each output is compared with every target, in a loss that torch does not have."""
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    x, y = curve()

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        error = model(batch[0]) - batch[1]
        return torch.log(torch.cosh(error)).mean()

    data = loader(x, y.squeeze(1) if broken else y)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss=loss, data=data)
