"""Whether a message is spam: 0 or 1. Both classes count."""

import torch
from torch import nn

from pytest_trainhealth import Training


def training():
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches = []
    for _ in range(8):
        features = torch.randn(32, 20)
        batches.append((features, (features[:, :3].sum(1) > 0).long()))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
