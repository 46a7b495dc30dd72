"""Two tutorials in one loop: one clears the gradients before the backward pass, the other just before the step."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


def training():
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step(batch):
        inputs, labels = batch
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.zero_grad()
        optimizer.step()
        return loss

    batches = [(torch.randn(16, 10), torch.randint(4, (16,))) for _ in range(8)]
    return Training(model, optimizer, step=step, data=batches)
