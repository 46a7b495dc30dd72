"""A classifier whose weights start at random, as far apart as its ReLUs need them."""

import torch
from torch import nn

from pytest_trainhealth import Training


def start(layer):
    if isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)


def training():
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    model.apply(start)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    inputs, labels = torch.randn(32, 16), torch.randint(5, (32,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
