import torch
from torch import nn

META = {"id": "h3_quantile_prices", "source": "healthy; quantile regression on raw units with standardising layers inside the model",
        "roots": [], "checks": [], "description": "raw features in physical units are scaled by a fitted buffer; pinball loss on three ordered quantiles of log price", "location": ""}


class Standardize(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("mean", torch.zeros(d))
        self.register_buffer("std", torch.ones(d))

    def adapt(self, x):
        self.mean.copy_(x.mean(0))
        self.std.copy_(x.std(0))
        return self

    def forward(self, x):
        return (x - self.mean) / self.std


class QuantileNet(nn.Module):
    def __init__(self, d, q):
        super().__init__()
        self.scale = Standardize(d)
        self.body = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, len(q)))
        self.register_buffer("q", torch.tensor(q))

    def forward(self, x):
        o = self.body(self.scale(x))
        return torch.cat([o[:, :1], o[:, :1] + torch.cumsum(nn.functional.softplus(o[:, 1:]), 1)], 1)

    def pinball(self, x, y):
        e = y[:, None] - self(x)
        return torch.maximum(self.q * e, (self.q - 1) * e).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 19)
    n = 40 * 25
    area = torch.rand(n, generator=g) * 180 + 30
    year = torch.randint(1930, 2021, (n,), generator=g).float()
    dist = torch.rand(n, generator=g) * 30
    rooms = (area / 28 + torch.rand(n, generator=g)).floor()
    x = torch.stack([area, year, dist, rooms], 1)
    u = (area - 120) / 50 + 0.8 * torch.sin((year - 1975) / 15) - (dist - 15) / 12
    y = u + (0.1 + 0.01 * dist) * torch.randn(n, generator=g)
    m = QuantileNet(4, [0.1, 0.5, 0.9])
    b = list(zip(x.split(40), y.split(40)))
    m.scale.adapt(x[:20 * 40])
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=5e-3), "data": b[:20], "val": b[20:],
            "loss": lambda m, b: m.pinball(*b)}
