"""Leaf species from shape measurements; samples are shuffled before batching."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_leaf_shuffle",
    "source": "CASES.md K bad_labels, C 46136553",
    "roots": ["labels-not-aligned"],
    "description": "measurements and species are shuffled with two different permutations",
    "location": "shuffle: labels[torch.randperm(n)]",
    "shows_in": "full-data",
}


class LeafNet(nn.Module):
    def __init__(self, n_in=14, n_species=7):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, n_species),
        )

    def forward(self, x):
        return self.net(x)


def leaves(g, n, n_in=14, n_species=7):
    centre = 1.2 * torch.randn(n_species, n_in, generator=g)
    species = torch.randint(0, n_species, (n,), generator=g)
    return centre[species] + 0.6 * torch.randn(n, n_in, generator=g), species


def shuffle(x, y, g, fixed):
    order = torch.randperm(len(x), generator=g)
    x = x[order]
    if not fixed:
        order = torch.randperm(len(y), generator=g)
    return x, y[order]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 24)
    x, y = leaves(g, 12 * 48)
    x = (x - x.mean(0)) / x.std(0)
    x, y = shuffle(x, y, g, fixed)
    data = list(zip(x.split(48), y.split(48)))
    model = LeafNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        xb, yb = batch
        return F.cross_entropy(model(xb), yb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
