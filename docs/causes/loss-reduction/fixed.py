"""A curve through measured points by SGD. The loss is the mean of the errors, which the learning rate suits."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


def loss(model, batch):
    x, y = batch
    return F.mse_loss(model(x), y, reduction="mean")


def training():
    x = torch.rand(128, 1) * 6 - 3
    y = torch.sin(x) + 0.05 * torch.randn(128, 1)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches = list(zip(x.split(32), y.split(32), strict=True))
    return Training(model, optimizer, loss=loss, data=batches)
