"""Clothing silhouettes 16x16, six classes, arrays shuffled before they are cut into batches."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "b7_clothing_shuffle",
    "source": "own; pattern: np.random.shuffle called on x and on y",
    "roots": ["labels-not-aligned"],
    "checks": ["data_is_healthy"],
    "description": "Images and labels of the training set are shuffled by two different permutations.",
    "location": "pairing of inputs and labels in the training data",
}


def silhouettes(rng, n):
    proto = np.zeros((6, 16, 16))
    proto[0, 3:13, 5:11] = 1
    proto[1, 3:13, 3:6] = proto[1, 3:13, 10:13] = 1
    proto[1, 3:5, 3:13] = 1
    proto[2, 9:13, 2:14] = 1
    proto[3, 3:7, 1:15] = 1
    proto[3, 7:13, 5:11] = 1
    proto[4] = np.tril(np.ones((16, 16)))
    proto[5, 2:14, 2:14] = 1
    proto[5, 5:11, 5:11] = 0
    y = rng.integers(0, 6, n)
    x = np.empty((n, 1, 16, 16), np.float32)
    for i, k in enumerate(y):
        img = np.roll(proto[k], rng.integers(-2, 3, 2), (0, 1))
        x[i, 0] = img * rng.uniform(0.6, 1.0) + rng.normal(0, 0.25, (16, 16))
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, y = silhouettes(rng, 900)
    xv, yv = silhouettes(rng, 150)
    if fixed:
        order = rng.permutation(len(x))
        x, y = x[order], y[order]
    else:
        rng.shuffle(x)
        rng.shuffle(y)

    def batches(x, y, size):
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        return list(zip(x.split(size), y.split(size)))

    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 6),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    return {"model": model, "optimizer": optimizer, "data": batches(x, y, 30), "loss": loss, "val": batches(xv, yv, 75)}
