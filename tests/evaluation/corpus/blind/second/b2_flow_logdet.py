"""Affine coupling flow on two-dimensional crescents."""
import math
import torch
from torch import nn

META = {
    "id": "b2_flow_logdet",
    "source": "own experience (sign of log|det J| in normalizing flows)",
    "roots": ["wrong-loss-sign"],
    "description": "log|det J| enters the negative log-likelihood with the wrong sign: the flow shrinks everything and the loss falls without bound",
    "location": "nll: + log_det instead of - log_det",
    "shows_in": "one-batch",
}


class Coupling(nn.Module):
    def __init__(self, dim, flip, hidden=48):
        super().__init__()
        self.flip = flip
        half = dim // 2
        self.net = nn.Sequential(nn.Linear(half, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2 * half))

    def forward(self, x):
        a, b = x.chunk(2, -1)
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, -1)
        log_s = 3.0 * torch.tanh(log_s / 3.0)
        b = b * log_s.exp() + t
        out = torch.cat([b, a] if self.flip else [a, b], -1)
        return out, log_s.sum(-1)


class Flow(nn.Module):
    def __init__(self, dim=4, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, i % 2 == 1) for i in range(depth))

    def forward(self, x):
        log_det = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        return x, log_det


def make_data(n_batches=6, batch_size=64):
    data = []
    for _ in range(n_batches):
        u = torch.randn(batch_size, 2)
        v = u.pow(2) * torch.tensor([1.0, -0.7]) + 0.25 * torch.randn(batch_size, 2)
        data.append(torch.cat([u, v], -1) * 3.0 + torch.tensor([4.0, -4.0, 6.0, 0.0]))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        z, log_det = model(batch)
        log_prior = -0.5 * (z.pow(2) + math.log(2 * math.pi)).sum(-1)
        log_px = log_prior + log_det if fixed else log_prior - log_det
        return -log_px.mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
