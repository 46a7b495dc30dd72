"""A list of validation losses, as numbers."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

GATES = {"max_memory_growth": 0.5}


def training():
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    held_out, held_out_labels = torch.randn(512, 64), torch.randint(4, (512,))
    history = []

    def step(batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        validation_loss = F.cross_entropy(model(held_out), held_out_labels)
        history.append(validation_loss.item())
        return loss

    batches = [(torch.randn(32, 64), torch.randint(4, (32,))) for _ in range(8)]
    return Training(model, optimizer, step=step, data=batches)
