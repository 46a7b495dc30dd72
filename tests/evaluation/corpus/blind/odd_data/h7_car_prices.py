"""Price of used cars from four numbers and the one-hot brand and model year."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_car_prices", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "The one-hot columns cover all 40 brands of the catalogue; rare brands never occur in this sample, so some columns are all zero.",
    "location": "",
}


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n, brands, years = 700, 40, 12
    popularity = 1.0 / (1 + np.arange(brands)) ** 2
    brand = rng.choice(brands, n, p=popularity / popularity.sum())
    year = rng.integers(0, years, n)
    numbers = rng.normal(size=(n, 4))
    worth = np.random.default_rng(8).normal(0, 0.6, brands)
    price = worth[brand] + 0.15 * (year - 6) - 0.6 * numbers[:, 0] + 0.4 * numbers[:, 1] + rng.normal(0, 0.2, n)
    x = np.concatenate([numbers, np.eye(brands)[brand], np.eye(years)[year]], 1)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(price, dtype=torch.float32)
    model = nn.Sequential(nn.Linear(x.shape[1], 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x).squeeze(1), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(TensorDataset(x[:560], y[:560]), batch_size=28, shuffle=True, generator=g),
        "val": DataLoader(TensorDataset(x[560:], y[560:]), batch_size=70),
    }
