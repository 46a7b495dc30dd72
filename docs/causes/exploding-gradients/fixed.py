"""Predicting prices from tables: features and target are standardised."""

import torch
from torch import nn

from pytest_trainhealth import Training


def training():
    rooms, area = torch.randint(1, 8, (64, 1)).float(), 20 + 100 * torch.rand(64, 1)
    features = torch.cat([rooms, area], dim=1)
    prices = 30_000 * rooms + 3_000 * area
    features = (features - features.mean(0)) / features.std(0)
    prices = (prices - prices.mean()) / prices.std()
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=(features, prices))
