"""A model with room for every one of its few samples, and nothing that keeps it from learning them by heart."""

import torch
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("generalizes",)


def training():
    inputs = torch.randn(64 + 512, 10)
    wrong = torch.rand(len(inputs)) < 0.2  # of the labels
    labels = ((inputs[:, 0] > 0) ^ wrong).long()
    data = list(zip(inputs[:64].split(8), labels[:64].split(8), strict=True))
    val_data = list(zip(inputs[64:].split(128), labels[64:].split(128), strict=True))
    model = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data, val_data=val_data)
