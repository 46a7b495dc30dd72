"""Four updates for each batch, each with its own gradient."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


def training():
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(batch):
        inputs, labels = batch
        loss = F.cross_entropy(model(inputs), labels)
        for _ in range(4):
            F.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss

    batches = []
    for _ in range(8):
        inputs = torch.randn(16, 10)
        batches.append((inputs, inputs[:, :4].argmax(1)))
    return Training(model, optimizer, step=step, data=batches)
