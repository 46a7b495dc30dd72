import math
import torch
from torch import nn

META = {"id": "t9_grid_load", "source": "electricity load repository, momentum copied from the EMA of another project",
        "roots": ["bad-momentum", "lr-too-high"], "checks": [],
        "description": "momentum of 0.99 at this rate makes the loss swing up and down instead of settling",
        "location": "make_optimizer: momentum"}

settings = dict(window=24, hidden=64, lr=0.02, batch=32)


def load_curve(hours, gen):
    t = torch.arange(hours, dtype=torch.float32)
    day = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.sin(4 * math.pi * t / 24 + 0.5)
    week = 0.5 * torch.sign(torch.sin(2 * math.pi * t / 168))
    drift = torch.cumsum(0.02 * torch.randn(hours, generator=gen), 0)
    return day + week + drift + 0.05 * torch.randn(hours, generator=gen)


def windows(series, w):
    x = series.unfold(0, w + 1, 1)
    return x[:, :w], x[:, w]


class Forecaster(nn.Module):
    def __init__(self, window, hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(window, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.readout = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.readout(self.encoder(x)).squeeze(1)


def make_optimizer(model, fixed):
    momentum = 0.9 if fixed else 0.99
    return torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=momentum)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 70)
    series = load_curve(2200, gen)
    series = (series - series[:1800].mean()) / series[:1800].std()
    x, y = windows(series[:1800], settings["window"])
    vx, vy = windows(series[1824:], settings["window"])
    order = torch.randperm(len(x), generator=gen)[:1600]
    model = Forecaster(settings["window"], settings["hidden"])
    optimizer = make_optimizer(model, fixed)

    def step(batch):
        past, following = batch
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(past), following)
        loss.backward()
        optimizer.step()
        return loss.item()

    b = settings["batch"]
    data = [(x[i], y[i]) for i in order.split(b)]
    return {"model": model, "optimizer": optimizer, "data": data, "step": step, "val": list(zip(vx.split(b), vy.split(b)))}
