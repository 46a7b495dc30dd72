"""Forward, clear, backward, step."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


def training():
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(batch):
        inputs, labels = batch
        loss = F.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    batches = [(torch.randn(16, 10), torch.randint(4, (16,))) for _ in range(8)]
    return Training(model, optimizer, step=step, data=batches)
