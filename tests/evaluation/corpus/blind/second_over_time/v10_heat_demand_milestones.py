import math

import torch
import torch.nn as nn

META = {"id": "v10_heat_demand_milestones",
        "source": "configs copied from runs on larger data sets: MultiStepLR milestones that were iterations in one code base and epochs in the other (mmdetection / detectron ports)",
        "roots": ["lr-decayed-too-early", "scheduler-misuse"],
        "checks": [],
        "description": "The first two milestones come after one and two epochs with gamma 0.03, so the learning rate is a thousandth while the forecast error has only just begun to fall.",
        "location": "build: milestones"}


class HeatSeries:
    """Hourly demand: daily cycle, outdoor temperature with lag, weekend dip."""

    def __init__(self, hours, g):
        t = torch.arange(hours).float()
        temp = torch.zeros(hours)
        e = torch.randn(hours, generator=g)
        for i in range(1, hours):
            temp[i] = 0.9 * temp[i - 1] + 0.43 * e[i]
        day = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.sin(4 * math.pi * t / 24 + 1)
        week = ((t // 24) % 7 < 5).float()
        demand = day * (0.6 + 0.4 * week) - 0.8 * torch.tanh(temp).roll(3) + 0.05 * torch.randn(hours, generator=g)
        self.table = torch.stack([demand, temp, week - 0.7], 1)

    def windows(self, lo, hi, back=24):
        idx = torch.arange(lo + back, hi)
        x = torch.stack([self.table[i - back:i] for i in idx])
        return x, self.table[idx, 0]


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv = nn.Conv1d(3, 16, 3)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(16 * 22, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.body(torch.tanh(self.conv(x.transpose(1, 2)))).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 14)
    series = HeatSeries(1000, g)
    x, y = series.windows(0, 700)
    p = torch.randperm(len(x), generator=g)
    xv, yv = series.windows(700, 1000)
    data = list(zip(x[p].split(32), y[p].split(32)))
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    milestones = [30, 50] if fixed else [1, 2]
    return {"model": model, "optimizer": opt, "data": data, "val": list(zip(xv.split(69), yv.split(69))),
            "scheduler": torch.optim.lr_scheduler.MultiStepLR(opt, milestones, gamma=0.03),
            "loss": lambda m, b: nn.functional.mse_loss(m(b[0]), b[1])}
