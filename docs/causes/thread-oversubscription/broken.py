"""A number of threads that was right on another machine."""

import torch
from torch import nn

from pytest_trainhealth import Training

GATES = {"min_samples_per_second": 6_000, "steps": 8}


def training():
    torch.set_num_threads(64)  # as the server has
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [(torch.randn(128, 256), torch.randint(10, (128,))) for _ in range(8)]
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
