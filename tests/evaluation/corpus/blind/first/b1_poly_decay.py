"""Semantic hashing of product vectors with a polynomial learning-rate schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import PolynomialLR

META = {
    "id": "b1_poly_decay",
    "source": "own experience: total_iters given in epochs, scheduler stepped per batch",
    "roots": ["lr-decayed-too-early", "scheduler-misuse"],
    "description": "the polynomial schedule ends after 50 batches instead of 50 epochs, then the rate is zero",
    "location": "PolynomialLR(total_iters=epochs)",
    "shows_in": "full-data",
}


class ProductNet(nn.Module):
    def __init__(self, n_in, n_categories, dim=48):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Linear(n_in, 96), nn.ReLU(),
            nn.Linear(96, dim), nn.Tanh(),
        )
        self.classify = nn.Linear(dim, n_categories)

    def forward(self, x):
        return self.classify(self.encode(x))


def make_products(n, n_in=30, n_categories=12):
    centers = torch.randn(n_categories, n_in)
    sub = 0.8 * torch.randn(n_categories, 3, n_in)
    cat = torch.randint(0, n_categories, (n,))
    kind = torch.randint(0, 3, (n,))
    x = centers[cat] + sub[cat, kind] + 0.5 * torch.randn(n, n_in)
    return (x - x.mean(0)) / x.std(0), cat


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs, epochs = 40, 50
    x, cat = make_products(12 * bs)
    data = list(zip(x.split(bs), cat.split(bs)))
    model = ProductNet(x.shape[1], 12)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    total = epochs * len(data) if fixed else epochs
    scheduler = PolynomialLR(optimizer, total_iters=total, power=1.0)

    def step(batch):
        x, cat = batch
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), cat)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
