import numpy as np
import torch
import torch.nn as nn

META = {"id": "w10_book_ratings_longtail",
        "source": "matrix factorisation on explicit ratings (MovieLens/Goodreads tutorials) with popular and rare items",
        "roots": [],
        "checks": [],
        "description": "Healthy: ids follow a long tail, ratings are rounded to half stars so many targets coincide, users and items occur in both splits, but no (user, item) pair does.",
        "location": ""}


class RatingLog:
    def __init__(self, users, items, rs):
        self.bu, self.bi = rs.randn(users) * 0.6, rs.randn(items) * 0.7
        self.p, self.q = rs.randn(users, 2) * 0.7, rs.randn(items, 2) * 0.7
        pop = 1 / (np.arange(items) + 8.0)
        prob = np.repeat(pop[None], users, 0).ravel() / (pop.sum() * users)
        pairs = rs.choice(users * items, 3400, replace=False, p=prob)
        self.u, self.i = pairs // items, pairs % items
        raw = 3.3 + self.bu[self.u] + self.bi[self.i] + (self.p[self.u] * self.q[self.i]).sum(1) + 0.2 * rs.randn(len(pairs))
        self.r = np.clip(np.round(raw * 2) / 2, 0.5, 5.0)

    def rows(self, lo, hi, size):
        t = lambda a, d: torch.tensor(a[lo:hi], dtype=d).split(size)
        return [{"user": a, "item": b, "stars": c} for a, b, c in
                zip(t(self.u, torch.long), t(self.i, torch.long), t(self.r, torch.float32))]


class BiasedMF(nn.Module):
    def __init__(self, users, items, mean, k=4):
        super().__init__()
        self.p, self.q = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.p, self.q):
            nn.init.normal_(e.weight, std=0.2)
        for e in (self.bu, self.bi):
            nn.init.normal_(e.weight, std=0.01)
        self.mean = nn.Parameter(torch.tensor(mean))

    def forward(self, user, item):
        return self.mean + self.bu(user)[:, 0] + self.bi(item)[:, 0] + (self.p(user) * self.q(item)).sum(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    log = RatingLog(80, 60, np.random.RandomState(seed + 411))
    train, val = log.rows(0, 3000, 50), log.rows(3000, 3400, 100)
    model = BiasedMF(80, 60, 3.3)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    return {"model": model, "optimizer": opt, "data": train, "val": val,
            "loss": lambda m, b: ((m(b["user"], b["item"]) - b["stars"]) ** 2).mean()}
