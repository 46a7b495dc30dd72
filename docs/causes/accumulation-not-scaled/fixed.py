"""Eight small batches stand for one large one: each step follows the mean of their gradients."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


def training():
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

    def step(batch):
        optimizer.zero_grad()
        total = 0.0
        for inputs, labels in zip(*(part.chunk(8) for part in batch), strict=True):
            loss = F.cross_entropy(model(inputs), labels)
            (loss / 8).backward()
            total += loss.item()
        optimizer.step()
        return total / 8

    batches = [(torch.randn(64, 16), torch.randint(4, (64,))) for _ in range(4)]
    return Training(model, optimizer, step=step, data=batches)
