import math
import torch
from torch import nn

META = {"id": "h3_realnvp_moons", "source": "healthy; RealNVP on two moons",
        "roots": [], "checks": [], "description": "affine coupling flow trained by exact likelihood", "location": ""}


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, -1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, -1)
        s = torch.tanh(s) * 2
        b = b * s.exp() + t
        return (torch.cat([b, a], -1) if self.flip else torch.cat([a, b], -1)), s.squeeze(-1)


class Flow(nn.Module):
    def __init__(self, depth=6):
        super().__init__()
        self.blocks = nn.ModuleList(Coupling(i % 2 == 1) for i in range(depth))

    def log_prob(self, x):
        ld = 0
        for b in self.blocks:
            x, l = b(x)
            ld = ld + l
        return -0.5 * (x ** 2).sum(-1) - math.log(2 * math.pi) + ld


def moons(n, g):
    t = torch.rand(n, generator=g) * math.pi
    k = torch.randint(0, 2, (n,), generator=g).float()
    x = torch.stack([torch.cos(t) * (1 - 2 * k) + k, torch.sin(t) * (1 - 2 * k) + 0.5 * k], 1)
    x = x + 0.06 * torch.randn(n, 2, generator=g)
    return (x - torch.tensor([0.5, 0.25])) / torch.tensor([0.87, 0.5])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    flow = Flow()
    data = list(moons(64 * 20, torch.Generator().manual_seed(seed)).split(64))
    return {"model": flow, "optimizer": torch.optim.AdamW(flow.parameters(), lr=3e-3, weight_decay=1e-5),
            "data": data, "loss": lambda m, x: -m.log_prob(x).mean()}
