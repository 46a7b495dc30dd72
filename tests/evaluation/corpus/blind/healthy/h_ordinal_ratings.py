"""Ordinal regression of star ratings with cumulative logits."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_ordinal_ratings",
    "description": "One shared score and ordered thresholds (first threshold plus cumulated exponentials); BCE over K-1 'greater than' labels instead of cross entropy.",
    "roots": [],
}


class OrdinalNet(nn.Module):
    def __init__(self, n_in=10, levels=5):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1, bias=False))
        self.first = nn.Parameter(torch.tensor([-1.5]))
        self.log_gap = nn.Parameter(torch.zeros(levels - 2))

    def forward(self, x):
        cut = torch.cat([self.first, self.first + self.log_gap.exp().cumsum(0)])
        return self.score(x) - cut


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(10)
    edges = torch.tensor([-2.5, -0.8, 0.8, 2.5])
    data = []
    for _ in range(8):
        x = torch.randn(32, 10)
        rating = torch.bucketize(x @ w + x[:, 0] * x[:, 1], edges)
        data.append((x, rating))
    model = OrdinalNet()
    optimizer = torch.optim.Adam([
        {"params": model.score.parameters(), "lr": 3e-3},
        {"params": [model.first, model.log_gap], "lr": 3e-2},
    ])

    def loss(model, batch):
        x, rating = batch
        levels = (rating[:, None] > torch.arange(4)[None]).float()
        return F.binary_cross_entropy_with_logits(model(x), levels, reduction="none").sum(1).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
