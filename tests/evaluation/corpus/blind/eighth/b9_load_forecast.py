import math
import numpy as np
import torch
from torch import nn

META = {"id": "b9_load_forecast", "source": "time-series forecasting tutorials; forum: scheduler.step() inside the batch loop",
        "roots": ["lr-decayed-too-early", "scheduler-misuse"], "checks": [],
        "description": "a decay that is meant per epoch (gamma 0.9) is applied after every batch",
        "location": "Forecaster.fit_batch"}


def hourly_load(n, seed):
    rng = np.random.RandomState(seed + 13)
    t = np.arange(n)
    daily = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(4 * np.pi * t / 24 + 0.7)
    weekly = 0.8 * (((t // 24) % 7) < 5)
    temp = np.cumsum(rng.randn(n)) * 0.05
    temp -= np.linspace(temp[0], temp[-1], n)
    load = daily + weekly + 0.6 * np.tanh(temp) + 0.1 * rng.randn(n)
    load = (load - load.mean()) / load.std()
    return np.stack([load, np.sin(2 * np.pi * t / 168), np.cos(2 * np.pi * t / 168), temp / (temp.std() + 1e-6)], 1)


def windows(series, context, horizon, stride):
    xs, ys = [], []
    for s in range(0, len(series) - context - horizon, stride):
        xs.append(series[s:s + context])
        ys.append(series[s + context:s + context + horizon, 0])
    return torch.tensor(np.array(xs), dtype=torch.float32), torch.tensor(np.array(ys), dtype=torch.float32)


class GRUForecaster(nn.Module):
    def __init__(self, n_features, hidden=48, horizon=12):
        super().__init__()
        self.gru = nn.GRU(n_features, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, horizon))

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1])


class Forecaster:
    def __init__(self, model, steps_per_epoch, lr=4e-3, gamma=0.9, fixed=False):
        self.model, self.fixed = model, fixed
        self.optim = torch.optim.Adam(model.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.ExponentialLR(self.optim, gamma=gamma)
        self.criterion = nn.HuberLoss()
        self.steps_per_epoch, self.seen = steps_per_epoch, 0

    def fit_batch(self, batch):
        x, y = batch
        self.optim.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optim.step()
        self.seen += 1
        if self.fixed:
            if self.seen % self.steps_per_epoch == 0:
                self.sched.step()
        else:
            self.sched.step()
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    np.random.seed(seed)
    x, y = windows(hourly_load(1200, seed), context=24, horizon=12, stride=1)
    perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:1152]
    data = [(x[i], y[i]) for i in perm.split(32)]
    fc = Forecaster(GRUForecaster(4), steps_per_epoch=len(data), fixed=fixed)
    return {"model": fc.model, "optimizer": fc.optim, "data": data, "step": fc.fit_batch}
