"""Measurements, without the one where a sensor measured nothing."""

import torch
from torch import nn

from pytest_trainhealth import Training

NOTHING = 9999.0


def measurements(count=48):
    readings = torch.randn(count, 12)
    readings[count // 3, 5] = NOTHING
    return readings, readings[:, :4].sum(dim=1, keepdim=True) + torch.randn(count, 1)


def training():
    readings, level = measurements()
    measured = (readings != NOTHING).all(dim=1)
    readings, level = readings[measured], level[measured]
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=(readings, level))
