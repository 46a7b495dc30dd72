import random
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_seeded_negatives", "source": "healthy; word2vec-like negative sampling with seeded generators",
        "roots": [], "checks": ["is_reproducible"], "description": "negatives from a seeded numpy generator, word dropping from a seeded random.Random", "location": ""}


class SkipGram(nn.Module):
    def __init__(self, v, d=16):
        super().__init__()
        self.inp, self.out = nn.Embedding(v, d), nn.Embedding(v, d)
        nn.init.uniform_(self.inp.weight, -0.3, 0.3)
        nn.init.uniform_(self.out.weight, -0.3, 0.3)

    def forward(self, c, ctx):
        return torch.einsum("bd,bkd->bk", self.inp(c), self.out(ctx))


class NegativeSampler:
    def __init__(self, probs, k, seed):
        self.rng, self.p, self.k = np.random.default_rng(seed), probs, k
        self.py = random.Random(seed)

    def __call__(self, n):
        return torch.from_numpy(self.rng.choice(len(self.p), size=(n, self.k), p=self.p))

    def keep(self, n):
        return torch.tensor([self.py.random() > 0.05 for _ in range(n)])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 51)
    V = 50
    grp = torch.arange(V) // 10
    c = torch.randint(0, V, (64 * 24,), generator=g)
    pos = grp[c] * 10 + torch.randint(0, 10, (len(c),), generator=g)
    extra = (grp[c][:, None] * 10 + torch.randint(0, 10, (len(c), 2), generator=g))
    ctx = torch.cat([pos[:, None], extra], 1)
    m = SkipGram(V)
    opt = torch.optim.Adam(m.parameters(), lr=2e-2)
    sampler = NegativeSampler(np.full(V, 1 / V), 5, seed)

    def step(batch):
        centre, context = batch
        k = sampler.keep(len(centre))
        centre, context = centre[k], context[k]
        loss = -F.logsigmoid(m(centre, context)).mean() - F.logsigmoid(-m(centre, sampler(len(centre)))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": m, "optimizer": opt, "data": list(zip(c.split(64), ctx.split(64))), "step": step}
