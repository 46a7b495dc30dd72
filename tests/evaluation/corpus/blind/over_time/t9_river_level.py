import math
import torch
import torch.nn as nn

META = {"id": "t9_river_level", "source": "hydrology repository, last fifth of the record for validation", "roots": [],
        "checks": ["generalizes"], "description": "healthy: validation follows training in time, with a gap between", "location": ""}


def record(days, g):
    rain = torch.relu(torch.randn(days, generator=g) - 0.3) * 2
    level, out = 1.0, []
    for d in range(days):
        season = 1 + 0.5 * math.sin(2 * math.pi * d / 365)
        level = 0.86 * level + 0.16 * season * float(rain[d]) + 0.05
        out.append(level)
    return rain, torch.tensor(out) + 0.02 * torch.randn(days, generator=g)


def sequences(rain, level, w=14):
    past = torch.stack([rain.unfold(0, w, 1)[:-1], level.unfold(0, w, 1)[:-1]], dim=2)
    return past, level[w:]


class RiverGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 32, batch_first=True)
        self.lin = nn.Linear(32, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.lin(h[:, -1]).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 15)
    rain, level = record(2000, g)
    cut = 1600
    m, s = level[:cut].mean(), level[:cut].std()
    rain, level = (rain - rain[:cut].mean()) / rain[:cut].std(), (level - m) / s
    x, y = sequences(rain[:cut], level[:cut])
    xv, yv = sequences(rain[cut + 30:], level[cut + 30:])
    order = torch.randperm(len(x), generator=g)[:1568]
    model = RiverGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    train = [(x[i], y[i]) for i in order.split(32)]
    val = [(xv[i:i + 32], yv[i:i + 32]) for i in range(0, len(xv), 32)]
    return {"model": model, "optimizer": optimizer, "data": train, "val": val,
            "loss": lambda m_, b: nn.functional.mse_loss(m_(b[0]), b[1])}
