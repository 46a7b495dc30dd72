"""Only training samples get into the mean that inputs are centred with."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("evaluates_cleanly",)


class Centred(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(10))
        self.layers = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        if self.training:
            self.mean = torch.lerp(self.mean, x.mean(0), 0.1)
        return self.layers(x - self.mean)


def training():
    model = Centred()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    @torch.no_grad()
    def evaluate(data):
        model.eval()
        losses = [F.cross_entropy(model(inputs), labels) for inputs, labels in data]
        model.train()
        return torch.stack(losses).mean()

    batches = [(each, each[:, :4].argmax(1)) for each in torch.randn(12, 16, 10)]
    rest = {"data": batches[:8], "val_data": batches[8:], "evaluate": evaluate}
    return Training(model, optimizer, criterion=F.cross_entropy, **rest)
