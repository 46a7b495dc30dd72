import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_bpr_negatives",
        "source": "recommender repos: numpy's default_rng() without a seed in the negative sampler while torch is seeded",
        "roots": ["nondeterministic"], "checks": ["is_reproducible"],
        "description": "Negatives are drawn from a numpy generator seeded by the operating system, so two runs with the same seed differ.",
        "location": "NegativeSampler.__init__"}


class NegativeSampler:
    def __init__(self, seen, n_items, seed):
        self.seen, self.n_items, self.rng = seen, n_items, np.random.default_rng(seed)

    def __call__(self, users):
        neg = self.rng.integers(self.n_items, size=len(users))
        for _ in range(20):
            bad = self.seen[users.numpy(), neg]
            if not bad.any():
                break
            neg[bad] = self.rng.integers(self.n_items, size=int(bad.sum()))
        return torch.from_numpy(neg)


class BPR(nn.Module):
    def __init__(self, users, items, dim=12):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.pop = nn.Embedding(items, 1)
        for e in (self.user, self.item, self.pop):
            nn.init.normal_(e.weight, std=0.1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.pop(i).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 36)
    taste, kind = torch.randn(80, 3, generator=g), torch.randn(60, 3, generator=g)
    likes = (taste @ kind.t() > 1.8)
    sampler = NegativeSampler(likes.numpy(), 60, seed if fixed else None)
    pairs = likes.nonzero()
    pairs = pairs[torch.randperm(len(pairs), generator=g)]
    pairs = pairs[:len(pairs) // 48 * 48]
    data = list(pairs.split(48))
    model = BPR(80, 60)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(batch):
        u, pos = batch[:, 0], batch[:, 1]
        loss = -F.logsigmoid(model(u, pos) - model(u, sampler(u))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
