"""A robust regression with a learning rate that decays."""

import torch
from torch import nn

from pytest_trainhealth import Training


def training():
    samples = torch.randn(256, 8)
    targets = samples @ torch.randn(8, 1)
    data = list(zip(samples.split(32), targets.split(32), strict=True))
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.8)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)
    return Training(model, optimizer, criterion=nn.L1Loss(), data=data, scheduler=scheduler, scheduler_every="batch")
