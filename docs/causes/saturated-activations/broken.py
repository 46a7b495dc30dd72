"""Gated layers that should start half closed. How much is -10, after a sigmoid?"""

import torch
from torch import nn

from pytest_trainhealth import Training


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.value = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, -10.0)

    def forward(self, x):
        return torch.relu(self.value(x)) * torch.sigmoid(self.gate(x))


def training():
    model = nn.Sequential(nn.Linear(16, 48), Gated(48), Gated(48), nn.Linear(48, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inputs, labels = torch.randn(32, 16), torch.randint(5, (32,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
