"""Traffic sign shapes, 20x20 RGB, five classes, small CNN."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "b7_traffic_signs",
    "source": "own; pattern: scaling an integer image in its own type",
    "roots": ["constant-features"],
    "checks": ["data_is_healthy"],
    "description": "The images are divided by 255 and stored back as uint8, so all of them are black before they become tensors.",
    "location": "inputs of training and validation data",
}


def sign(rng, k, size=20):
    yy, xx = np.mgrid[:size, :size] - (size - 1) / 2
    xx, yy = xx + rng.uniform(-2, 2), yy + rng.uniform(-2, 2)
    r = rng.uniform(5, 7)
    inside = [xx ** 2 + yy ** 2 < r * r, np.maximum(abs(xx), abs(yy)) < r * 0.85, abs(xx) + abs(yy) < r * 1.2,
              (yy < r * 0.6) & (yy > 2 * abs(xx) - r), (abs(xx) < r * 0.3) | (abs(yy) < r * 0.3)][k]
    img = rng.integers(20, 120, (3, 1, 1)) + rng.normal(0, 15, (3, size, size))
    img[:, inside] = rng.integers(130, 230, (3, 1)) + rng.normal(0, 12, (3, int(inside.sum())))
    return np.clip(img, 0, 250).astype(np.uint8)


class Signs(Dataset):
    def __init__(self, n, seed, dtype):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 5, n)
        raw = np.stack([sign(rng, k) for k in self.labels])
        self.images = (raw / 255.0).astype(dtype)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]).float(), int(self.labels[i])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    dtype = np.float32 if fixed else np.uint8
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 25, 5),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(Signs(600, seed, dtype), batch_size=30, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(Signs(100, seed + 50, dtype), batch_size=50),
    }
