"""Ozone class (low, middle, high) from standardised measurements of a measuring station."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "b7_air_quality",
    "source": "own; pattern: missing-value code of the logger left in the data",
    "roots": ["outliers"],
    "checks": ["data_is_healthy"],
    "description": "The logger writes -9999 for missing readings; 1 % of the readings of three columns keep this value beside standardised ones.",
    "location": "inputs, columns 2, 5 and 6",
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 1100
    x = rng.normal(size=(n, 8))
    score = x[:, 0] + 0.8 * x[:, 2] - 0.6 * x[:, 5] * x[:, 1] + rng.normal(0, 0.3, n)
    y = np.digitize(score, [-0.6, 0.6])
    for c in (2, 5, 6):
        x[rng.random(n) < 0.01, c] = -9999.0
    if fixed:
        x[x == -9999.0] = 0.0
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    data = list(zip(x[:900].split(45), y[:900].split(45)))
    val = list(zip(x[900:].split(100), y[900:].split(100)))
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
