"""Inputs are years: bfloat16 has one number for eight of them."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("keeps_precision",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(10, 64), nn.Linear(64, 4)
        with torch.no_grad():
            self.first.bias -= 2000 * self.first.weight.sum(1)

    def forward(self, years):
        return self.second(torch.relu(self.first(years)))


def training():
    model = Model()
    optimizer = torch.optim.Adam(model.second.parameters(), lr=3e-3)
    batches = [(2000 + each, each[:, :4].argmax(1)) for each in torch.randn(8, 16, 10)]
    return Training(model, optimizer, criterion=F.cross_entropy, data=batches, precision="bfloat16")
