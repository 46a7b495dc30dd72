"""A loop that accumulates gradients over four batches. It counts with a variable that it never increases."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

ACCUMULATE = 4


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.batches = 0

    def step(self, batch):
        inputs, labels = batch
        loss = F.cross_entropy(self.model(inputs), labels)
        (loss / ACCUMULATE).backward()
        if (self.batches + 1) % ACCUMULATE == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss


def training():
    trainer = Trainer()
    batches = [(torch.randn(8, 10), torch.randint(3, (8,))) for _ in range(16)]
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=batches)
