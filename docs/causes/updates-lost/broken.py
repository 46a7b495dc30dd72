"""An optimizer of one's own that steps through its groups, and forgets the first parameter of each."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class SignDescent(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"][1:]:
                p -= group["lr"] * p.grad.sign()


def training():
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = SignDescent(model.parameters(), lr=1e-3)
    batches = []
    for _ in range(8):
        inputs = torch.randn(16, 10)
        batches.append((inputs, inputs[:, :4].argmax(1)))
    return Training(model, optimizer, lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]), batches)
