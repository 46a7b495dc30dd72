import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_bpr_negatives", "source": "implicit-feedback recommender repositories (negative sampler with its own generator)",
        "roots": ["nondeterministic"], "checks": ["is_reproducible"],
        "description": "the negative sampler makes its NumPy generator without a seed, so two runs with the same seed draw other negatives",
        "location": "NegativeSampler.__init__"}


class NegativeSampler:
    """Popularity-weighted negatives that the user has not interacted with."""

    def __init__(self, positives, n_items, seed=None, power=0.75):
        self.rng = np.random.default_rng(seed)
        counts = np.bincount([i for items in positives.values() for i in items], minlength=n_items) + 1.0
        self.p = counts ** power / (counts ** power).sum()
        self.positives, self.n_items = positives, n_items

    def __call__(self, users):
        out = np.empty(len(users), dtype=np.int64)
        for k, u in enumerate(users):
            while True:
                j = int(self.rng.choice(self.n_items, p=self.p))
                if j not in self.positives[u]:
                    out[k] = j
                    break
        return torch.from_numpy(out)


class LightGCN(nn.Module):
    def __init__(self, n_users, n_items, adj, dim=24, layers=2):
        super().__init__()
        self.n_users, self.layers = n_users, layers
        self.emb = nn.Embedding(n_users + n_items, dim)
        nn.init.normal_(self.emb.weight, std=0.1)
        self.register_buffer("adj", adj)

    def propagate(self):
        x = self.emb.weight
        acc = [x]
        for _ in range(self.layers):
            x = self.adj @ x
            acc.append(x)
        out = torch.stack(acc).mean(0)
        return out[: self.n_users], out[self.n_users:]

    def forward(self, u, i, j):
        users, items = self.propagate()
        return (users[u] * items[i]).sum(1), (users[u] * items[j]).sum(1)


def interactions(n_users, n_items, seed):
    rs = np.random.RandomState(seed + 5)
    group_u, group_i = rs.randint(0, 4, n_users), rs.randint(0, 4, n_items)
    prob = np.where(group_u[:, None] == group_i[None], 0.35, 0.03)
    mat = rs.rand(n_users, n_items) < prob
    mat[np.arange(n_users), rs.randint(0, n_items, n_users)] = True
    return mat


def norm_adj(mat):
    u, i = mat.shape
    a = np.zeros((u + i, u + i), dtype=np.float32)
    a[:u, u:] = mat
    a[u:, :u] = mat.T
    d = a.sum(1).clip(min=1) ** -0.5
    return torch.from_numpy(d[:, None] * a * d[None])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    np.random.seed(seed)
    mat = interactions(80, 60, seed)
    positives = {u: set(np.flatnonzero(mat[u]).tolist()) for u in range(80)}
    pairs = np.argwhere(mat)
    pairs = torch.from_numpy(pairs[np.random.RandomState(seed).permutation(len(pairs))])
    batches = [b for b in pairs.split(48) if len(b) == 48]
    sampler = NegativeSampler(positives, 60, seed=seed if fixed else None)
    model = LightGCN(80, 60, norm_adj(mat))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(batch):
        u, i = batch[:, 0], batch[:, 1]
        j = sampler(u.tolist())
        pos, neg = model(u, i, j)
        reg = model.emb(u).pow(2).sum(1).mean() * 1e-4
        loss = F.softplus(neg - pos).mean() + reg
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": batches, "step": step}
