"""Rent per square metre of flats from eleven columns, tanh network trained with SGD."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_flat_rents",
    "source": "own; pattern: a column added after the scaler was fitted",
    "roots": ["unnormalized-inputs"],
    "checks": ["data_is_healthy"],
    "description": "Ten columns are standardised, the household income was added later and is given in raw currency (about 1e5).",
    "location": "inputs, column 10",
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 900
    base = rng.normal(size=(n, 10))
    income = rng.normal(92000, 21000, n)
    z = (income - 92000) / 21000
    rent = 0.8 * base[:, 0] - 0.5 * base[:, 4] + 0.4 * base[:, 1] * base[:, 2] + 0.5 * z + rng.normal(0, 0.3, n)
    col = (income - income[:720].mean()) / income[:720].std() if fixed else income
    x = torch.tensor(np.column_stack([base, col]), dtype=torch.float32)
    y = torch.tensor(rent, dtype=torch.float32)

    model = nn.Sequential(nn.Linear(11, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x)[:, 0], y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(TensorDataset(x[:720], y[:720]), batch_size=36, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(TensorDataset(x[720:], y[720:]), batch_size=90),
    }
