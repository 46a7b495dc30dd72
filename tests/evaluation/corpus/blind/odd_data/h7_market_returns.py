"""Volatility regression from scaled returns of eight instruments."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_market_returns", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Returns are Student-t with 3 degrees of freedom: heavy tails, values of ten deviations are real; the columns are scaled by their spread.",
    "location": "",
}


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 1200
    vol = np.exp(rng.normal(0, 0.4, (n, 1)))
    x = rng.standard_t(3, (n, 8)) * vol
    x = x / np.median(np.abs(x[:960]), axis=0) * 0.67
    y = np.log(vol[:, 0]) * 1.5 + rng.normal(0, 0.2, n)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

        def forward(self, x):
            squashed = torch.sign(x) * torch.log1p(x.abs())
            return self.body(torch.cat([squashed, squashed.abs()], 1)).squeeze(1)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.huber_loss(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(TensorDataset(x[:960], y[:960]), batch_size=48, shuffle=True, generator=g),
        "val": DataLoader(TensorDataset(x[960:], y[960:]), batch_size=80),
    }
