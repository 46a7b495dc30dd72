import math
import torch
from torch import nn

META = {"id": "h9_realnvp_moons", "source": "density estimation repo", "roots": [], "checks": [],
        "description": "healthy RealNVP with data-dependent actnorm initialised in build, NLL in nats", "location": ""}


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.b, self.s = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))

    @torch.no_grad()
    def initialise(self, x):
        self.b.copy_(-x.mean(0))
        self.s.copy_(-x.std(0).log())
        return self(x)[0]

    def forward(self, x):
        return (x + self.b) * self.s.exp(), self.s.sum()


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
        nn.init.zeros_(self.net[-1].weight), nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.unbind(-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a[:, None]).unbind(-1)
        s = 2 * torch.tanh(s / 2)
        b = b * s.exp() + t
        return torch.stack([b, a] if self.flip else [a, b], -1), s


class Flow(nn.Module):
    def __init__(self, k=6):
        super().__init__()
        self.layers = nn.ModuleList([m for i in range(k) for m in (ActNorm(), Coupling(i % 2 == 0))])

    def nll(self, x):
        ld = 0
        for l in self.layers:
            x, d = l(x)
            ld = ld + d
        return (0.5 * x.pow(2).sum(-1) + math.log(2 * math.pi) - ld).mean()


def moons(n, g):
    t = torch.rand(n, generator=g) * math.pi
    up = torch.rand(n, generator=g) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos())
    y = torch.where(up, t.sin(), 0.5 - t.sin())
    return torch.stack([x, y], -1) + 0.06 * torch.randn(n, 2, generator=g)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [moons(64, g) for _ in range(16)]
    flow = Flow()
    h = torch.cat(data)
    for l in flow.layers:
        h = l.initialise(h) if isinstance(l, ActNorm) else l(h)[0].detach()
    opt = torch.optim.AdamW(flow.parameters(), lr=6e-3, weight_decay=1e-5)

    def step(x):
        opt.zero_grad()
        loss = flow.nll(x + 0.01 * torch.randn_like(x))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(flow.parameters(), 10.0)
        opt.step()
        return loss.item()

    return {"model": flow, "optimizer": opt, "data": data, "step": step}
