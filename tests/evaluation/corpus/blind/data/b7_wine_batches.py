"""Wine cultivar classifier; batches are collected up front so that they can be pinned."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_wine_batches",
    "source": "own; pattern: next(iter(loader)) with a fresh seeded generator in the loop",
    "roots": ["duplicated-samples"],
    "checks": ["data_is_healthy"],
    "description": "The loader is made anew with the same generator seed for every step, so the same first batch is collected again and again.",
    "location": "training data, all batches",
}


def table(rng, n):
    centers = np.random.default_rng(5).normal(size=(3, 13)) * 0.9
    y = rng.integers(0, 3, n)
    x = centers[y] + rng.normal(size=(n, 13))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, val = TensorDataset(*table(rng, 960)), TensorDataset(*table(rng, 150))

    def loader():
        g = torch.Generator().manual_seed(seed)
        return DataLoader(train, batch_size=32, shuffle=True, generator=g)

    steps = len(train) // 32
    if fixed:
        it = iter(loader())
        data = [next(it) for _ in range(steps)]
    else:
        data = [next(iter(loader())) for _ in range(steps)]

    model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": list(DataLoader(val, batch_size=50))}
