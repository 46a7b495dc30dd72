"""A deep network with an activation that lets the gradient through."""

import torch
from torch import nn

from pytest_trainhealth import Training

DEPTH = 10


def training():
    layers = [nn.Linear(20, 32), nn.ReLU()]
    for _ in range(DEPTH):
        layers += [nn.Linear(32, 32), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, labels = torch.randn(32, 20), torch.randint(4, (32,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
