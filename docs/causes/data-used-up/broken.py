"""Unlabelled samples come from a second loader, one batch at each step. It is shorter than the training."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


def training():
    inputs = torch.randn(256, 8)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=32)
    unlabelled = iter(loader)

    def step(batch):
        optimizer.zero_grad()
        (extra,) = next(unlabelled)
        consistency = (model(extra) - model(extra + 0.01 * torch.randn_like(extra))).square().mean()
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1]) + consistency
        loss.backward()
        optimizer.step()
        return loss

    labels = (inputs[:, 0] > 0).long()
    batches = list(zip(inputs.split(32), labels.split(32), strict=True))
    return Training(model, optimizer, step=step, data=batches)
