"""Photovoltaic yield: fitted on the bright half of the year, validated on the dark half on purpose."""
import math
import torch
from torch import nn

META = {"id": "t9_solar_yield", "source": "energy start-up's code with a stress test split", "roots": [],
        "checks": ["generalizes"], "description": "healthy: validation is meant to lie in another season", "location": ""}


def panels(n, dark, g):
    day = torch.rand(n, generator=g) * 180 + (265 if dark else 85)
    season = torch.sin(2 * math.pi * (day - 80) / 365)
    hour = torch.rand(n, generator=g) * 10 + 7
    cloud = torch.rand(n, generator=g) ** (0.7 if dark else 1.4)
    temp = 11 + 10 * season + 3 * torch.randn(n, generator=g)
    height = (0.55 + 0.25 * season) * torch.sin(math.pi * (hour - 6) / 12)
    output = height * (1 - 0.7 * cloud) * (1 - 0.004 * (temp - 20))
    x = torch.stack([season, (hour - 12) / 3, cloud * 3 - 1.4, (temp - 15) / 8], 1)
    return x, 4 * output - 1 + 0.04 * torch.randn(n, generator=g)


class Yield(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.a = nn.Linear(4, h)
        self.b = nn.Linear(h, h)
        self.c = nn.Linear(h, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        h = torch.tanh(self.b(h))
        return self.c(h)[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 40)
    x, y = panels(2400, False, g)
    x2, y2 = panels(160, False, g)
    xv, yv = panels(480, True, g)
    x, y = torch.cat([x, x2]), torch.cat([y, y2])
    model = Yield()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, weight_decay=1e-5)

    def loss_fn(model, batch):
        features, power = batch
        return (model(features) - power).square().mean()

    return {"model": model, "optimizer": optimizer, "loss": loss_fn,
            "data": list(zip(x.split(40), y.split(40))), "val": list(zip(xv.split(48), yv.split(48)))}
