"""Flowers by their measures. The model gives raw scores, and the loss applies its own softmax."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Flowers(nn.Module):
    def __init__(self, features=8, species=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 64), nn.ReLU())
        self.head = nn.Linear(64, species)

    def forward(self, measures):
        return self.head(self.body(measures))


def training():
    centres = torch.randn(5, 8) * 2
    species = torch.randint(5, (64,))
    measures = centres[species] + torch.randn(64, 8)
    model = Flowers()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches = list(zip(measures.split(16), species.split(16), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
