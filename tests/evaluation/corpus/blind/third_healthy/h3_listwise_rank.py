import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h3_listwise_rank", "source": "healthy; learning to rank with ragged query groups",
        "roots": [], "checks": [], "description": "RankNet pairs weighted by delta gain inside each query, groups of unequal size", "location": ""}


class Scorer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def lambda_loss(model, batch):
    scores = model(batch["docs"])
    total, weight = scores.new_zeros(()), 0.0
    for s, rel in zip(scores.split(batch["sizes"]), batch["rel"].split(batch["sizes"])):
        gain = 2.0 ** rel - 1
        diff = gain[:, None] - gain[None]
        pair = diff > 0
        total = total + (F.softplus(-(s[:, None] - s[None])) * diff)[pair].sum()
        weight += diff[pair].sum().item()
    return total / max(weight, 1.0)


def queries(g, w, n):
    for _ in range(n):
        sizes = torch.randint(4, 10, (8,), generator=g).tolist()
        x = torch.randn(sum(sizes), 7, generator=g)
        q = torch.randn(8, 7, generator=g).repeat_interleave(torch.tensor(sizes), 0)
        u = (x * q).sum(1) / 2.6 + x @ w
        rel = torch.bucketize(u, torch.tensor([-0.8, 0.3, 1.4])).float()
        yield {"docs": torch.cat([x, x * q], 1), "rel": rel, "sizes": sizes}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 6)
    m = Scorer(14)
    return {"model": m, "optimizer": torch.optim.Adagrad(m.parameters(), lr=0.05),
            "data": list(queries(g, torch.randn(7, generator=g) / 2, 30)), "loss": lambda_loss}
