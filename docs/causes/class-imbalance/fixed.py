"""Payments, of which one in two hundred is a fraud; every second one that is drawn."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from pytest_trainhealth import Training


def payments():
    fraud = (torch.arange(1200) % 200 == 0).long()
    return torch.randn(1200, 8) + fraud[:, None] * torch.linspace(-1, 1, 8), fraud


def training():
    x, fraud = payments()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    evenly = WeightedRandomSampler(1 / fraud.bincount()[fraud], len(x))
    loader = DataLoader(TensorDataset(x, fraud), 50, sampler=evenly)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader)
