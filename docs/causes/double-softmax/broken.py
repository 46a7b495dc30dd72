"""Flowers by their measures. The model ends in a softmax, and the loss applies its own."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Flowers(nn.Module):
    def __init__(self, features=8, species=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 64), nn.ReLU())
        self.head = nn.Linear(64, species)

    def forward(self, measures):
        scores = self.head(self.body(measures))
        return torch.softmax(scores, dim=1)


def training():
    centres = torch.randn(5, 8) * 2
    species = torch.randint(5, (64,))
    measures = centres[species] + torch.randn(64, 8)
    model = Flowers()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches = list(zip(measures.split(16), species.split(16), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
