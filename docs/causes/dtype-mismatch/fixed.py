"""A table that was read with numpy, which computes in float64. It is brought to the type of the weights."""

import numpy as np
import torch
from torch import nn

from pytest_trainhealth import Training


def table(rows):
    columns = np.random.default_rng(0).standard_normal((rows, 6))
    return columns, columns @ np.array([0.5, -1.0, 0.3, 0.0, 0.8, -0.2])


def training():
    columns, prices = table(256)
    columns, prices = torch.from_numpy(columns).float(), torch.from_numpy(prices).float()
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = list(zip(columns.split(32), prices.split(32), strict=True))
    return Training(model, optimizer, criterion=nn.MSELoss(), data=batches)
