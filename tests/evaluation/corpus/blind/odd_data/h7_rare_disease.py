"""Rare disease screening from blood values, the sick drawn more often by a weighted sampler."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

META = {
    "id": "h7_rare_disease", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "8 % are sick; the sampler draws with replacement so that a third of an epoch is sick: their rows come several times on purpose. The validation data are not resampled.",
    "location": "",
}


def people(rng, n):
    y = (rng.random(n) < 0.08).astype(np.float32)
    x = rng.normal(size=(n, 15))
    x[y == 1, :5] += np.array([0.9, -1.1, 0.8, 1.0, -0.7])
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(y)


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    (x, y), (xv, yv) = people(rng, 1600), people(rng, 400)
    weights = torch.where(y > 0, 0.33 / y.mean(), 0.67 / (1 - y.mean())).double()
    g = torch.Generator().manual_seed(seed)
    sampler = WeightedRandomSampler(weights, num_samples=1200, replacement=True, generator=g)
    model = nn.Sequential(nn.Linear(15, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)

    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(TensorDataset(x, y), batch_size=40, sampler=sampler),
        "val": DataLoader(TensorDataset(xv, yv), batch_size=200),
    }
