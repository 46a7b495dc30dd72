"""Eight times the samples, and a model that is no larger than they need."""

import torch
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("generalizes",)


def training():
    inputs = torch.randn(512 + 512, 10)
    wrong = torch.rand(len(inputs)) < 0.2  # of the labels
    labels = ((inputs[:, 0] > 0) ^ wrong).long()
    data = list(zip(inputs[:512].split(32), labels[:512].split(32), strict=True))
    val_data = list(zip(inputs[512:].split(128), labels[512:].split(128), strict=True))
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data, val_data=val_data)
