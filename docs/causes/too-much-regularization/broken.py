"""Dropout as another library spells it: there, 0.9 was the share to keep."""

import torch
from torch import nn

from pytest_trainhealth import Training

KEEP = 0.9


def training():
    drop = nn.Dropout(KEEP)
    model = nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), drop, nn.Linear(64, 64), nn.ReLU(), drop, nn.Linear(64, 64), nn.ReLU(), drop,
        nn.Linear(64, 5),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    inputs, labels = torch.randn(32, 20), torch.randint(5, (32,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
