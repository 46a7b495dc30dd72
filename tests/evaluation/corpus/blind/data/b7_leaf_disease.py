"""Four-class leaf disease classifier on small RGB photos, offline augmentation."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_leaf_disease",
    "source": "own; pattern: augment the folder, then random split",
    "roots": ["data-leakage"],
    "checks": ["data_is_healthy"],
    "description": "Every photo is augmented five times by slight brightness and sensor noise before the random split, so nearly every validation photo has near-copies in the training data.",
    "location": "split of training and validation data",
}


def photos(rng, n, size=24):
    y = rng.integers(0, 4, n)
    yy, xx = np.mgrid[:size, :size]
    x = np.empty((n, 3, size, size), np.float32)
    for i, k in enumerate(y):
        base = np.array([0.25, 0.55, 0.2])[:, None, None] + rng.normal(0, 0.05, (3, 1, 1))
        img = base + rng.normal(0, 0.12, (3, size, size))
        img += 0.15 * np.sin(xx / rng.uniform(2, 6) + rng.uniform(0, 6)) * np.cos(yy / rng.uniform(2, 6))
        for _ in range(3 * k):
            cx, cy = rng.uniform(3, size - 3, 2)
            spot = (xx - cx) ** 2 + (yy - cy) ** 2 < rng.uniform(2, 6)
            img[:, spot] = np.array([0.45, 0.3, 0.1])[:, None] + rng.normal(0, 0.03)
        x[i] = img
    return x, y


def augment(rng, x, y, times=5):
    xs, ys = [x], [y]
    for _ in range(times - 1):
        gain = rng.uniform(0.98, 1.02, (len(x), 1, 1, 1))
        xs.append((x * gain + rng.normal(0, 0.008, x.shape)).astype(np.float32))
        ys.append(y)
    return np.concatenate(xs), np.concatenate(ys)


def to_set(x, y):
    return TensorDataset((torch.from_numpy(np.ascontiguousarray(x)).float() - 0.35) / 0.2, torch.from_numpy(y))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, y = photos(rng, 400)
    if fixed:
        order = rng.permutation(len(x))
        tr, va = order[:320], order[320:]
        train, val = to_set(x[tr], y[tr]), to_set(x[va], y[va])
    else:
        x, y = augment(rng, x, y)
        order = rng.permutation(len(x))
        cut = int(0.8 * len(x))
        train, val = to_set(x[order[:cut]], y[order[:cut]]), to_set(x[order[cut:]], y[order[cut:]])

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(32, 4),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(train, batch_size=32, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(val, batch_size=64),
    }
