"""River level forecasting from several gauges with a GRU."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b3_river_gauges",
    "source": "CASES.md J, nans-in-input-data-breaking-gradients/58504",
    "roots": ["nan-in-data"],
    "description": "a gauge that was offline leaves NaN readings in one window",
    "location": "data[5]['history']",
    "shows_in": "nan",
}


class GaugeGRU(nn.Module):
    def __init__(self, n_gauges=5, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(n_gauges, hidden, batch_first=True)
        self.out = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        _, h = self.rnn(x)
        return self.out(h[-1]).squeeze(-1)


def levels(g, n_steps):
    t = torch.arange(n_steps).float()
    rain = torch.randn(n_steps, generator=g).clamp(min=0)
    flow = torch.zeros(n_steps)
    for i in range(1, n_steps):
        flow[i] = 0.9 * flow[i - 1] + 0.4 * rain[i - 1]
    base = flow - flow.mean() + torch.sin(2 * math.pi * t / 60)
    gauges = [torch.roll(base, -k) + 0.05 * torch.randn(n_steps, generator=g) for k in range(5)]
    return torch.stack(gauges, dim=1)


def windows(series, length=16):
    xs = torch.stack([series[i:i + length] for i in range(len(series) - length - 1)])
    ys = series[length + 1:, 0][: len(xs)]
    return xs, ys


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 3)
    series = levels(g, 300)
    series = (series - series.mean(0)) / series.std(0)
    x, y = windows(series)
    order = torch.randperm(len(x), generator=g)[:256]
    x, y = x[order], y[order]
    x[170, 4:9, 3] = float("nan")
    if fixed:
        x = torch.nan_to_num(x, nan=0.0)
    data = [{"history": x[i:i + 32], "level": y[i:i + 32]} for i in range(0, 256, 32)]
    model = GaugeGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(model, batch):
        return nn.functional.mse_loss(model(batch["history"]), batch["level"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
