import math

import torch
from torch import nn

META = {"id": "w10_tram_load_time_split",
        "source": "demand forecasting with a chronological split and overlapping windows",
        "roots": [],
        "checks": [],
        "description": "Healthy: windows of one long series overlap within the training part, the validation part lies after it with a gap and a slightly higher level.",
        "location": ""}


def series(n, g):
    t = torch.arange(n).float()
    y = torch.sin(2 * math.pi * t / 12) + 0.5 * torch.sin(2 * math.pi * t / 30 + 0.7) + t / n * 0.4
    ar = torch.zeros(n)
    e = torch.randn(n, generator=g) * 0.15
    for i in range(1, n):
        ar[i] = 0.8 * ar[i - 1] + e[i]
    return y + ar


class Windows:
    def __init__(self, y, back, ahead):
        k = back + ahead
        w = y.unfold(0, k, 1)
        self.past, self.future = w[:, :back].contiguous(), w[:, back:].contiguous()

    def batches(self, lo, hi, size, order=None):
        idx = torch.arange(lo, hi) if order is None else lo + order
        return [(self.past[i], self.future[i]) for i in idx.split(size)]


class DLinear(nn.Module):
    """Trend and remainder, plus a small nonlinear correction."""

    def __init__(self, back, ahead, kernel=7):
        super().__init__()
        self.pool = nn.AvgPool1d(kernel, 1, kernel // 2, count_include_pad=False)
        self.trend, self.rest = nn.Linear(back, ahead), nn.Linear(back, ahead)
        self.corr = nn.Sequential(nn.Linear(back, 32), nn.Tanh(), nn.Linear(32, ahead))

    def forward(self, x):
        tr = self.pool(x[:, None])[:, 0]
        return self.trend(tr) + self.rest(x - tr) + self.corr(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 406)
    w = Windows(series(1500, g), back=36, ahead=4)
    data = w.batches(0, 1120, 32, torch.randperm(1120, generator=g))
    val = w.batches(1180, 1440, 65)
    model = DLinear(36, 4)
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=2e-3), "data": data, "val": val,
            "loss": lambda m, b: (m(b[0]) - b[1]).pow(2).mean()}
