"""Supervised contrastive learning plus a detached linear probe."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_supcon_digits",
    "description": 'Supervised contrastive loss (floor: log of the number of positives) plus the cross entropy of a probe on detached features.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv1d(16, 32, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 5, 32))
        self.probe = nn.Linear(32, classes)

    def forward(self, x):
        z = F.normalize(self.enc(x), dim=1)
        return z, self.probe(z.detach() * 5)


def supcon(z, y, tau=0.3):
    sim = z @ z.t() / tau
    eye = torch.eye(len(z), dtype=torch.bool)
    logp = sim - torch.logsumexp(sim.masked_fill(eye, -1e9), 1, keepdim=True)
    pos = (y[:, None] == y[None]) & ~eye
    return -((logp * pos).sum(1) / pos.sum(1).clamp(min=1)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.linspace(0, 1, 32)
    data = []
    for _ in range(8):
        y = torch.arange(32) % 4
        x = torch.sin(2 * math.pi * ((y[:, None] + 1) * t[None] + 0.3 * torch.rand(32, 1)))
        data.append(((x + 0.2 * torch.randn(32, 32))[:, None], y))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        z, logits = model(x)
        return supcon(z, y) + F.cross_entropy(logits, y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
