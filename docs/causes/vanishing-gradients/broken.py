"""A deep network as in the textbooks of the last century."""

import torch
from torch import nn

from pytest_trainhealth import Training


class DeepNetwork(nn.Module):
    def __init__(self, depth=10, width=32):
        super().__init__()
        self.entry = nn.Linear(20, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.entry(x)
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.head(x)


def training():
    model = DeepNetwork()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, labels = torch.randn(32, 20), torch.randint(4, (32,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
