"""Of the number of each customer the model is given the branch alone, its last digit in base 8."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("generalizes",)


class Churn(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch = nn.Embedding(8, 32)
        self.layers = nn.Sequential(nn.Linear(32 + 6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, numbers, habits):
        return self.layers(torch.cat([self.branch(numbers % 8), habits], 1))


def training():
    numbers, unhappy = torch.arange(128 + 2048), torch.randint(2, (128 + 2048,))
    habits = torch.randn(len(numbers), 6) + 0.8 * (2 * unhappy[:, None] - 1)
    left = unhappy ^ (torch.rand(len(numbers)) < 0.2)  # not all who are unhappy leave, and others do
    data = list(zip(numbers[:128].split(16), habits[:128].split(16), left[:128].split(16), strict=True))
    val_data = list(zip(numbers[128:].split(512), habits[128:].split(512), left[128:].split(512), strict=True))
    model = Churn()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss=loss, data=data, val_data=val_data)


def loss(model, batch):
    numbers, habits, left = batch
    return F.cross_entropy(model(numbers, habits), left)
