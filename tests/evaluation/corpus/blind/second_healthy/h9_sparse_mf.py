import torch
from torch import nn

META = {"id": "h9_sparse_mf", "source": "recommender library", "roots": [], "checks": [],
        "description": "healthy matrix factorisation: sparse embeddings with SparseAdam, dense side features with Adam, raw 1-5 ratings",
        "location": ""}


class BiasedMF(nn.Module):
    def __init__(self, users, items, mean, k=8):
        super().__init__()
        self.u, self.i = nn.Embedding(users, k, sparse=True), nn.Embedding(items, k, sparse=True)
        self.bu, self.bi = nn.Embedding(users, 1, sparse=True), nn.Embedding(items, 1, sparse=True)
        for e in (self.u, self.i):
            nn.init.normal_(e.weight, std=0.3)
        nn.init.zeros_(self.bu.weight), nn.init.zeros_(self.bi.weight)
        self.side = nn.Linear(3, 1)
        self.register_buffer("mean", mean)

    def forward(self, u, i, feats):
        dot = (self.u(u) * self.i(i)).sum(1)
        return self.mean + dot + self.bu(u)[:, 0] + self.bi(i)[:, 0] + self.side(feats)[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    U, I, N = 40, 30, 1024
    pu, qi, bi = torch.randn(U, 2, generator=g), torch.randn(I, 2, generator=g), torch.randn(I, generator=g)
    u = torch.randint(0, U, (N,), generator=g)
    i = (torch.rand(N, generator=g) ** 2 * I).long()                     # popular items are rated more often
    feats = torch.randn(N, 3, generator=g)
    r = (3.4 + (pu[u] * qi[i]).sum(1) * 0.6 + 0.6 * bi[i] + feats @ torch.tensor([0.4, -0.3, 0.2])).clamp(1, 5).round()
    model = BiasedMF(U, I, r.mean())
    sparse = torch.optim.SparseAdam([p for n, p in model.named_parameters() if not n.startswith("side")], lr=0.03)
    dense = torch.optim.Adam(model.side.parameters(), lr=0.02, weight_decay=1e-4)
    data = [dict(user=u[s], item=i[s], ctx=feats[s], rating=r[s]) for s in torch.arange(N).split(64)]

    def step(b):
        loss = (model(b["user"], b["item"], b["ctx"]) - b["rating"]).pow(2).mean()
        reg = 0.01 * (model.u(b["user"]).pow(2).sum(1) + model.i(b["item"]).pow(2).sum(1)).mean()
        for o in (sparse, dense):
            o.zero_grad()
        (loss + reg).backward()
        for o in (sparse, dense):
            o.step()
        return (loss + reg).detach()

    return {"model": model, "optimizer": [sparse, dense], "data": data, "step": step}
