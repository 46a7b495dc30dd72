"""Twelve residual layers: each adds to what it gets, and nothing takes anything away."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.Identity()
        self.layer = nn.Linear(width, width)
        nn.init.kaiming_normal_(self.layer.weight)

    def forward(self, x):
        return x + torch.relu(self.layer(self.norm(x)))


def training():
    blocks = [Block(32) for _ in range(12)]
    model = nn.Sequential(nn.Linear(16, 32), *blocks, nn.Linear(32, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    inputs, labels = torch.randn(16, 16), torch.randint(5, (16,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
