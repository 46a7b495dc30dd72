"""House prices. The model gives a column, the prices are a plain list of numbers."""

import torch
from torch import nn

from pytest_trainhealth import Training


def houses(number):
    features = torch.randn(number, 6)
    prices = features @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5, -1.0]) + 0.1 * torch.randn(number)
    return features, prices


def loss(model, batch):
    features, prices = batch
    predicted = model(features)
    return ((predicted - prices) ** 2).mean()


def training():
    features, prices = houses(64)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    batches = list(zip(features.split(16), prices.split(16), strict=True))
    return Training(model, optimizer, loss=loss, data=batches)
