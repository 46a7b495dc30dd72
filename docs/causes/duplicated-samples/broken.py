"""A sampler of one's own, with a seed so that every run draws the same."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training

CHECKS = ("data_is_healthy",)


class SeededBatches:
    def __len__(self):
        return 20

    def __iter__(self):
        for _ in range(20):
            drawn = torch.Generator().manual_seed(7)
            yield torch.randperm(640, generator=drawn)[:32].tolist()


def training():
    x = torch.randn(640, 8)
    y = (x[:, :4].sum(1) > x[:, 4:].sum(1)).long()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(x, y), batch_sampler=SeededBatches())
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=loader)
