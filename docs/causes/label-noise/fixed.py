"""Plants that were labelled by a crowd, each by twenty-five people, of whom most decide."""

import torch
from torch import nn

from pytest_trainhealth import Training


def plants():
    kinds = torch.arange(900) % 3
    return torch.randn(3, 6)[kinds] * 2.5 + torch.randn(900, 6), kinds


def by_a_crowd(kinds, people):
    wrong = torch.rand(people, len(kinds)) < 1 / 3
    return torch.where(wrong, (kinds + 1) % 3, kinds).mode(0).values


def training():
    x, kinds = plants()
    labels = by_a_crowd(kinds[:600], people=25)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = list(zip(x[:600].split(50), labels.split(50), strict=True))
    by_experts = list(zip(x[600:].split(50), kinds[600:].split(50), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches, val_data=by_experts)
