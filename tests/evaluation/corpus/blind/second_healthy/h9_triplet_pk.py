import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import Sampler, DataLoader, TensorDataset

META = {"id": "h9_triplet_pk", "source": "re-identification toolbox", "roots": [], "checks": [],
        "description": "healthy metric learning: PK sampler, batch-hard soft-margin triplet plus ID loss with BNNeck and center loss (own SGD)",
        "location": ""}


class PK(Sampler):
    def __init__(self, y, p, k, seed):
        self.pool = {int(c): (y == c).nonzero().flatten() for c in y.unique()}
        self.p, self.k, self.g = p, k, torch.Generator().manual_seed(seed)

    def __len__(self):
        return 12

    def __iter__(self):
        ids = list(self.pool)
        for _ in range(len(self)):
            pick = torch.randperm(len(ids), generator=self.g)[:self.p].tolist()
            yield [int(i) for c in pick for i in self.pool[ids[c]][torch.randperm(len(self.pool[ids[c]]), generator=self.g)[:self.k]]]


class ReID(nn.Module):
    def __init__(self, ids, d=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, 64), nn.BatchNorm1d(64), nn.PReLU(), nn.Linear(64, d))
        self.neck = nn.BatchNorm1d(d)
        self.neck.bias.requires_grad_(False)
        self.cls = nn.Linear(d, ids, bias=False)
        nn.init.normal_(self.cls.weight, std=0.01)

    def forward(self, x):
        f = self.body(x)
        return f, self.cls(self.neck(f))


def batch_hard(f, y):
    d = (torch.cdist(f, f).pow(2) + 1e-9).sqrt()
    same = y[:, None] == y[None]
    return F.softplus(d.masked_fill(~same, 0).amax(1) - d.masked_fill(same, 1e4).amin(1)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n_id = 20
    y = torch.randint(0, n_id, (600,), generator=g)
    mix = torch.randn(10, 40, generator=g) / 3
    x = (torch.randn(n_id, 10, generator=g)[y] + 0.35 * torch.randn(600, 10, generator=g)) @ mix + 0.1 * torch.randn(600, 40, generator=g)
    net = ReID(n_id)
    centers = nn.Parameter(torch.randn(n_id, 24) * 0.1)
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=3e-3, weight_decay=5e-4)
    opt_c = torch.optim.SGD([centers], lr=0.5)
    beta = 5e-4
    data = DataLoader(TensorDataset(x, y), batch_sampler=PK(y, 8, 4, seed))

    def step(batch):
        xb, yb = batch
        net.train()
        f, logits = net(xb)
        center = (f - centers[yb]).pow(2).sum(1).mean()
        loss = F.cross_entropy(logits, yb, label_smoothing=0.1) + batch_hard(f, yb) + beta * center
        opt.zero_grad(), opt_c.zero_grad()
        loss.backward()
        opt.step()
        centers.grad.mul_(1 / beta)                    # the centers have a rate independent of the weight
        opt_c.step()
        return loss.item()

    return {"model": net, "optimizer": [opt, opt_c], "data": data, "step": step}
