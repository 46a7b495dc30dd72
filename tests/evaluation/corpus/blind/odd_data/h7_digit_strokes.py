"""Seven-segment digits drawn on a black 28x28 field, ten classes, small CNN."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_digit_strokes", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "White strokes in the middle of a black field as in MNIST: the border pixels are zero in all images and most pixels are zero.",
    "location": "",
}

SEGMENTS = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abfgcd"]
LINES = {"a": (0, 0, 0, 6), "b": (0, 6, 6, 6), "c": (6, 6, 12, 6), "d": (12, 0, 12, 6),
         "e": (6, 0, 12, 0), "f": (0, 0, 6, 0), "g": (6, 0, 6, 6)}


def digit(rng, k):
    img = np.zeros((28, 28), np.float32)
    top, left = 7 + rng.integers(-2, 3), 10 + rng.integers(-3, 4)
    for s in SEGMENTS[k]:
        r0, c0, r1, c1 = LINES[s]
        level = rng.uniform(0.7, 1.0)
        img[top + r0:top + r1 + 2, left + c0:left + c1 + 2] = level
    noise = rng.random((28, 28)) < 0.25
    img[noise] *= rng.uniform(0.5, 1.0)
    return img


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)

    def part(n):
        y = rng.integers(0, 10, n)
        x = np.stack([digit(rng, k) for k in y])[:, None]
        return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))

    train, val = part(800), part(160)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 5, stride=2), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(24 * 25, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(train, batch_size=40, shuffle=True, generator=g), "val": DataLoader(val, batch_size=80),
    }
