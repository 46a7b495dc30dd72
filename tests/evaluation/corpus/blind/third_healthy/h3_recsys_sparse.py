import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_recsys_sparse", "source": "healthy; matrix factorisation with sparse embeddings",
        "roots": [], "checks": [], "description": "SparseAdam for embedding tables, Adam for the rest; BPR with sampled negatives in the batch", "location": ""}


class BPR(nn.Module):
    def __init__(self, users, items, d=8):
        super().__init__()
        self.user = nn.Embedding(users, d, sparse=True)
        self.item = nn.Embedding(items, d, sparse=True)
        self.side = nn.Linear(4, d, bias=False)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, u, i, f):
        return (self.user(u) * (self.item(i) + self.side(f))).sum(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 4)
    U, I, n = 40, 60, 64 * 24
    feats = torch.randn(I, 4, generator=g)
    taste = torch.randn(U, 4, generator=g)
    hidden_u, hidden_i = torch.randn(U, 2, generator=g), torch.randn(I, 2, generator=g)
    score = taste @ feats.t() + hidden_u @ hidden_i.t()
    flat = torch.randperm(U * I, generator=g)[:n]
    u = flat % U
    a, b = flat // U, torch.randint(0, I, (n,), generator=g)
    b = torch.where(a == b, (b + 1) % I, b)
    swap = score[u, a] < score[u, b]
    pos, neg = torch.where(swap, b, a), torch.where(swap, a, b)
    data = [dict(user=p, pos=q, neg=r) for p, q, r in zip(u.split(64), pos.split(64), neg.split(64))]
    m = BPR(U, I)
    opts = [torch.optim.SparseAdam([m.user.weight, m.item.weight], lr=1e-2), torch.optim.Adam(m.side.parameters(), lr=1e-2)]

    def loss(m, b):
        d = m(b["user"], b["pos"], feats[b["pos"]]) - m(b["user"], b["neg"], feats[b["neg"]])
        return F.softplus(-d).mean()

    return {"model": m, "optimizer": opts, "data": data, "loss": loss}
