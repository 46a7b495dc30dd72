import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_triplet_batch_all", "source": "healthy; metric learning with P x K sampling",
        "roots": [], "checks": [], "description": "margin triplet loss averaged over all valid triplets of P x K batches", "location": ""}


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.PReLU(), nn.Linear(64, 12))

    def forward(self, x):
        return self.net(x)


def batch_all(emb, ids, margin=0.5):
    dist = (torch.cdist(emb, emb) ** 2 + 1e-8).sqrt()
    same = ids[:, None] == ids[None]
    eye = torch.eye(len(ids), dtype=torch.bool)
    valid = (same & ~eye)[:, :, None] & (~same)[:, None, :]
    viol = F.relu(dist[:, :, None] - dist[:, None, :] + margin)[valid]
    return viol.sum() / valid.sum().clamp(min=1)


def pk_batches(g, n_ids=12, p=6, k=5, n=30):
    centers = torch.randn(n_ids, 4, generator=g) * 1.2
    lift = torch.randn(8, 16, generator=g) * 0.5
    for _ in range(n):
        who = torch.randperm(n_ids, generator=g)[:p].repeat_interleave(k)
        z = torch.cat([centers[who] + 0.25 * torch.randn(p * k, 4, generator=g), torch.randn(p * k, 4, generator=g)], 1)
        yield torch.sin(z @ lift), who


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    net = Embedder()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    data = list(pk_batches(torch.Generator().manual_seed(seed + 1)))
    return {"model": net, "optimizer": opt, "data": data, "loss": lambda m, b: batch_all(m(b[0]), b[1])}
