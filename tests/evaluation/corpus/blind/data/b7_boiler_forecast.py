"""Forecast of the flow temperature of a heating plant from the last 24 hours of five sensors."""
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_boiler_forecast",
    "source": "own; pattern: sensors with different clocks reindexed onto one hourly grid",
    "roots": ["nan-in-data"],
    "checks": ["data_is_healthy"],
    "description": "The reindexed hourly frame keeps NaN where a sensor did not report; the windows go to the GRU as they are.",
    "location": "inputs (training and validation windows)",
}

HOURS = 24


def read_plant(rng, n=900):
    t = np.arange(n)
    index = pd.date_range("2021-01-04", periods=n, freq="h")
    outside = 4 + 6 * np.sin(2 * np.pi * t / 24) + np.cumsum(rng.normal(0, 0.15, n))
    flow = 55 - 0.9 * outside + rng.normal(0, 0.6, n)
    cols = {
        "outside": outside,
        "flow": flow,
        "return": flow - 12 + rng.normal(0, 0.8, n),
        "pump": 0.6 + 0.1 * np.cos(2 * np.pi * t / 24) + rng.normal(0, 0.02, n),
        "pressure": 1.8 + rng.normal(0, 0.03, n),
    }
    series = {}
    for name, values in cols.items():
        s = pd.Series(values, index=index)
        if name in ("return", "pressure"):
            s = s[rng.random(n) > 0.015]
        series[name] = s
    return pd.DataFrame(series).reindex(index)


class Forecaster(nn.Module):
    def __init__(self, n_in, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1]).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    frame = read_plant(rng)
    if fixed:
        frame = frame.interpolate(limit_direction="both")
    cut = int(len(frame) * 0.8)
    mean, std = frame[:cut].mean(), frame[:cut].std()
    values = ((frame - mean) / std).to_numpy(np.float32)

    def windows(a):
        x = np.stack([a[i:i + HOURS] for i in range(len(a) - HOURS)])
        y = a[HOURS:, 1]
        return torch.from_numpy(x), torch.from_numpy(y.copy())

    train, val = TensorDataset(*windows(values[:cut])), TensorDataset(*windows(values[cut:]))
    model = Forecaster(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(train, batch_size=32, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(val, batch_size=64),
    }
