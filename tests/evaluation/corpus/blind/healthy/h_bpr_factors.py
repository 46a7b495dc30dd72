"""Matrix factorisation with BPR and sparse embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_bpr_factors",
    "description": 'Sparse embedding gradients with SparseAdam for the tables and a second Adam for the dense tower; pairwise ranking loss without labels.',
    "roots": [],
}


class Recommender(nn.Module):
    def __init__(self, users=60, items=80, dim=24):
        super().__init__()
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.Embedding(items, dim, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.tower = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, dim))

    def score(self, u, i):
        return (self.tower(self.user(u)) * self.item(i)).sum(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    taste = torch.randint(0, 4, (60,))
    data = []
    for _ in range(8):
        u = torch.randint(0, 60, (48,))
        pos = taste[u] * 20 + torch.randint(0, 20, (48,))
        neg = (taste[u] + torch.randint(1, 4, (48,))) % 4 * 20 + torch.randint(0, 20, (48,))
        data.append((u, pos, neg))
    model = Recommender()
    sparse_opt = torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=1e-2)
    dense_opt = torch.optim.Adam(model.tower.parameters(), lr=3e-3)

    def step(batch):
        u, pos, neg = batch
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        loss = -F.logsigmoid(model.score(u, pos) - model.score(u, neg)).mean()
        loss.backward()
        sparse_opt.step()
        dense_opt.step()
        return loss

    return {"model": model, "optimizer": [sparse_opt, dense_opt], "data": data, "step": step}
