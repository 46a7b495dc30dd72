"""One sample per step: most of the step is starting operations."""

import torch
from torch import nn

from pytest_trainhealth import Training

GATES = {"min_samples_per_second": 8_000}
BATCH_SIZE = 1


def training():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs, labels = torch.randn(4096, 32), torch.randint(4, (4096,))
    batches = list(zip(inputs.split(BATCH_SIZE), labels.split(BATCH_SIZE), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
