"""Bearing failure alarm from vibration summaries; failures are rare and weighted in the loss."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_bearing_alarm", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "3 % failures is the true rate; pos_weight makes up for it and both parts of the split contain failures.",
    "location": "",
}


def part(rng, n):
    y = np.zeros(n)
    y[: int(0.03 * n)] = 1
    rng.shuffle(y)
    x = rng.normal(size=(n, 12))
    x[y == 1, :4] += np.array([1.5, 1.0, -1.2, 0.9])
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, val = part(rng, 2400), part(rng, 600)
    weight = torch.tensor(0.97 / 0.03)
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)

    def loss(model, batch):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y, pos_weight=weight)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(train, batch_size=80, shuffle=True, generator=g), "val": DataLoader(val, batch_size=200),
    }
