"""Bird call type from small log-mel patches, labels from a crowd platform."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_crowd_birds",
    "source": "own; pattern: single-vote crowd labels",
    "roots": ["label-noise"],
    "checks": ["data_is_healthy"],
    "description": "45 % of the training labels come from careless annotators and are uniformly random over the four classes.",
    "location": "labels of the training data",
}


def patches(rng, n):
    y = rng.integers(0, 4, n)
    f, t = np.mgrid[:20, :20]
    x = rng.normal(0, 0.7, (n, 1, 20, 20))
    for i, k in enumerate(y):
        start, width = rng.uniform(4, 10), rng.uniform(1.0, 1.8)
        ridge = [start + 0.5 * t, start + 8 - 0.5 * t, start + 3 + 0 * t, start + 3 + 3 * np.sin(t * 0.8)][k]
        x[i, 0] += 2.5 * np.exp(-((f - ridge) / width) ** 2)
    return x.astype(np.float32), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, y = patches(rng, 900)
    xv, yv = patches(rng, 150)
    votes = rng.integers(0, 4, len(y))
    careless = rng.random(len(y)) < 0.45
    if not fixed:
        y = np.where(careless, votes, y)

    model = nn.Sequential(
        nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(24 * 25, 32), nn.ReLU(), nn.Linear(32, 4),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    train = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    val = TensorDataset(torch.from_numpy(xv), torch.from_numpy(yv))
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(train, batch_size=30, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(val, batch_size=75),
    }
