"""A siamese network: pairs of the same person should lie close together, others apart."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


def distance(a, b):
    return (a - b).pow(2).sum(1).add(1e-8).sqrt()


def contrastive_loss(model, batch):
    left, right, same = batch
    apart = distance(model(left), model(right))
    return torch.where(same, apart, F.relu(1 - apart)).mean()


def training():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    left, right = torch.randn(16, 32), torch.randn(16, 32)
    same = torch.arange(16) < 8
    right[0] = left[0]  # the same photograph twice
    return Training(model, optimizer, contrastive_loss, data=(left, right, same))
