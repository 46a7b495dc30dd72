"""A regression whose momentum has two nines too many."""

import torch
from torch import nn

from pytest_trainhealth import Training


def training():
    samples = torch.randn(256, 8)
    targets = samples @ torch.randn(8, 1)
    data = list(zip(samples.split(32), targets.split(32), strict=True))
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.999)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=data)
