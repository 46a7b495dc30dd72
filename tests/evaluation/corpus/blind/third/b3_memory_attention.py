"""Set classification: each sample attends over its own set of items."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_memory_attention",
    "source": "own experience (softmax over the wrong dimension)",
    "roots": ["batch-mixing"],
    "description": "attention weights are normalised over dimension 0, the batch, instead of over the items",
    "location": "ItemAttention.forward: softmax(dim=0)",
    "shows_in": "wiring",
}


class ItemAttention(nn.Module):
    def __init__(self, dim, fixed):
        super().__init__()
        self.q = nn.Parameter(torch.randn(dim) / math.sqrt(dim))
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.dim = dim
        self.axis = 1 if fixed else 0

    def forward(self, items):
        score = (self.k(items) @ self.q) / math.sqrt(self.dim)
        weight = F.softmax(3.0 * score, dim=self.axis)
        return (weight.unsqueeze(-1) * self.v(items)).sum(dim=1)


class SetNet(nn.Module):
    def __init__(self, fixed, n_in=8, dim=48, n_classes=5):
        super().__init__()
        self.item = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.attend = ItemAttention(dim, fixed)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, n_classes))

    def forward(self, x):
        return self.head(self.attend(self.item(x)))


def make_data(g, n_batches=8, batch=32, n_items=9):
    proto = 1.5 * torch.randn(5, 7, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch,), generator=g)
        other = torch.randint(0, 5, (batch, n_items), generator=g)
        flag = torch.zeros(batch, n_items)
        key = torch.randint(0, n_items, (batch,), generator=g)
        flag[torch.arange(batch), key] = 2.0
        other[torch.arange(batch), key] = y
        x = torch.cat([flag[..., None], proto[other]], dim=-1)
        data.append((x + 0.1 * torch.randn(x.shape, generator=g), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 13)
    data = make_data(g)
    model = SetNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
