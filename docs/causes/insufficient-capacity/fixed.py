"""Which ring does a point lie on? Three layers that bend what is between them."""

import math

import torch
from torch import nn

from pytest_trainhealth import Training


def rings(count=96):
    ring, angle = torch.arange(count) % 2, 4 * math.pi / count * (torch.arange(count) // 2)
    radius = 1 + 2 * ring
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), ring


def training():
    model = nn.Sequential(
        nn.Linear(2, 32),
        nn.ReLU(),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Linear(32, 2),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=rings())
