"""RealNVP on two moons."""
import math

import torch
import torch.nn as nn

META = {
    "id": "h_realnvp_moons",
    "description": 'Normalising flow with zero-initialised coupling outputs (the flow starts as the identity) and alternating masks that keep half of the inputs untouched; likelihood loss.',
    "roots": [],
}


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(depth))

    def log_prob(self, x):
        logdet = 0.0
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return -0.5 * (x ** 2).sum(1) - math.log(2 * math.pi) + logdet


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        th = math.pi * torch.rand(64)
        up = torch.rand(64) < 0.5
        x = torch.where(up, th.cos(), 1 - th.cos())
        y = torch.where(up, th.sin(), 0.5 - th.sin())
        data.append(torch.stack([x, y], 1) * 1.5 + 0.05 * torch.randn(64, 2))
    model = RealNVP()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, x):
        return -model.log_prob(x).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
