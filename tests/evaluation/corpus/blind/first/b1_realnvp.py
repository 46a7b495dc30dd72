"""RealNVP density model of jet kinematics."""
import math

import torch
import torch.nn as nn

META = {
    "id": "b1_realnvp",
    "source": "CASES.md D low_lr, ported to a normalising flow",
    "roots": ["lr-too-low"],
    "description": "learning rate 1e-6 for a flow trained from scratch",
    "location": "torch.optim.Adam(lr=1e-6)",
    "shows_in": "one-batch",
}


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.half = dim // 2
        self.net = nn.Sequential(
            nn.Linear(self.half, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2 * (dim - self.half)),
        )
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x[:, : self.half], x[:, self.half:]
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = 2.0 * torch.tanh(s / 2.0)
        b = (b - t) * torch.exp(-s)
        out = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return out, -s.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, dim=6, n_layers=6, hidden=32):
        super().__init__()
        self.dim = dim
        self.layers = nn.ModuleList([Coupling(dim, hidden, i % 2 == 1) for i in range(n_layers)])

    def log_prob(self, x):
        log_det = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        base = -0.5 * (x ** 2).sum(1) - 0.5 * self.dim * math.log(2 * math.pi)
        return base + log_det


def make_jets(n):
    z = torch.randn(n, 6)
    pt = 4 * z[:, 0] + 2
    x = torch.stack([
        pt, 3 * z[:, 1] + 2 * torch.sin(pt / 3), 0.5 * pt + z[:, 2],
        2 * z[:, 3] - 0.4 * pt, z[:, 4] * 5 + z[:, 1], 3 + 3 * z[:, 5] + z[:, 4],
    ], dim=1)
    return x


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = list(make_jets(8 * 64).split(64))
    flow = RealNVP()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3 if fixed else 1e-6)

    def nll(model, x):
        return -model.log_prob(x).mean()

    return {"model": flow, "optimizer": optimizer, "data": data, "loss": nll}
