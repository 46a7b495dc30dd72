"""CNN with mixup."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_mixup_softlabels",
    "description": 'Labels are blended between samples with a Beta draw each step: soft cross entropy that cannot reach zero and jumps from step to step.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 4))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    templates = torch.randn(4, 1, 10, 10)
    data = []
    for _ in range(6):
        y = torch.randint(0, 4, (24,))
        data.append((templates[y] + 0.4 * torch.randn(24, 1, 10, 10), y))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    beta = torch.distributions.Beta(0.4, 0.4)

    def loss(model, batch):
        x, y = batch
        lam = beta.sample()
        perm = torch.randperm(len(x))
        logits = model(lam * x + (1 - lam) * x[perm])
        return lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[perm])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
