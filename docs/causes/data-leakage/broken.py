"""Scans of a rare disease are doubled, so that there are more of them, and then the set is split."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

from pytest_trainhealth import Training


def scans():
    sick = (torch.arange(400) % 4 == 0).long()
    return torch.randn(400, 16) + sick[:, None] * torch.linspace(-1, 1, 16), sick


def doubled(x, sick):
    return torch.cat([x, x[sick == 1]]), torch.cat([sick, sick[sick == 1]])


def training():
    halves = random_split(TensorDataset(*doubled(*scans())), (0.8, 0.2))
    data, val_data = TensorDataset(*halves[0][:]), TensorDataset(*halves[1][:])
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(
        model,
        optimizer,
        criterion=nn.CrossEntropyLoss(),
        data=DataLoader(data, 32, shuffle=True),
        val_data=DataLoader(val_data, 32),
    )
