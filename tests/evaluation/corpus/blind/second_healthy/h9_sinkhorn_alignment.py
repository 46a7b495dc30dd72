import torch
from torch import nn

META = {"id": "h9_sinkhorn_alignment", "source": "single-cell alignment code", "roots": [], "checks": [],
        "description": "healthy optimal transport: a map pushes source minibatches to target ones, debiased log-domain Sinkhorn divergence",
        "location": ""}


def sinkhorn(x, y, eps=0.1, iters=15):
    C = torch.cdist(x, y).pow(2) / 2
    n, m = C.shape
    loga, logb = -torch.log(torch.tensor(float(n))), -torch.log(torch.tensor(float(m)))
    with torch.no_grad():
        f, g = torch.zeros(n), torch.zeros(m)
        for _ in range(iters):
            f = -eps * torch.logsumexp((g[None] - C) / eps + logb, 1)
            g = -eps * torch.logsumexp((f[:, None] - C) / eps + loga, 0)
        P = torch.exp((f[:, None] + g[None] - C) / eps + loga + logb)
    return (P * C).sum()                                       # envelope theorem: the plan is held fixed


class ResidualMap(nn.Module):
    def __init__(self, d=3):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, d))
        with torch.no_grad():
            self.f[-1].weight.mul_(0.1)

    def forward(self, x):
        return x + self.f(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    mus = torch.randn(4, 3, generator=g) * 1.2
    R = torch.linalg.qr(torch.randn(3, 3, generator=g))[0]
    data = []
    for _ in range(12):
        k = torch.randint(0, 4, (48,), generator=g)
        k2 = torch.randint(0, 4, (40,), generator=g)
        data.append({"source": mus[k] + 0.2 * torch.randn(48, 3, generator=g),
                     "target": (mus[k2] + 0.2 * torch.randn(40, 3, generator=g)) @ R + torch.tensor([2.0, -1.0, 0.5])})
    net = ResidualMap()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)

    def step(b):
        z = net(b["source"])
        loss = sinkhorn(z, b["target"]) - 0.5 * sinkhorn(z, z) - 0.5 * sinkhorn(b["target"], b["target"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
