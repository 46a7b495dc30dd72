"""A loop that looks at its accuracy now and then, in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(
            nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 3)
        )  # fmt: skip
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.accuracy = []

    @torch.no_grad()
    def evaluate(self, inputs, labels):
        self.model.eval()
        self.accuracy.append((self.model(inputs).argmax(-1) == labels).float().mean())

    def step(self, batch):
        inputs, labels = batch
        loss = F.cross_entropy(self.model(inputs), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.evaluate(inputs, labels)
        return loss


def training():
    trainer = Trainer()
    centers = 2 * torch.randn(3, 12)
    labels = [torch.randint(3, (32,)) for _ in range(8)]
    batches = [(centers[y] + torch.randn(32, 12), y) for y in labels]
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=batches)
