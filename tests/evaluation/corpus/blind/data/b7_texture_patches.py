"""Material classifier on random 16x16 patches cut from twelve large texture photographs."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "b7_texture_patches",
    "source": "own; pattern: random generator created inside __getitem__ with a fixed seed",
    "roots": ["duplicated-samples"],
    "checks": ["data_is_healthy"],
    "description": "The crop position is drawn from a generator seeded inside __getitem__, so each photograph always gives the same patch: the epoch has 12 different samples.",
    "location": "training data",
}

SIZE, CROP = 96, 16


def photograph(rng, kind):
    yy, xx = np.mgrid[:SIZE, :SIZE]
    noise = rng.normal(0, 0.5, (SIZE, SIZE))
    if kind == 0:
        img = np.sin(xx * rng.uniform(0.7, 1.0)) + noise
    elif kind == 1:
        img = np.sin(yy * rng.uniform(0.7, 1.0)) + noise
    elif kind == 2:
        img = np.sin((xx + yy) * rng.uniform(0.5, 0.7)) + noise
    else:
        img = np.sign(np.sin(xx * 0.6) * np.sin(yy * 0.6)) + noise
    return img.astype(np.float32)


class Patches(Dataset):
    def __init__(self, seed, length, keep_generator):
        rng = np.random.default_rng(seed)
        self.photos = [photograph(rng, k % 4) for k in range(12)]
        self.length, self.seed = length, seed
        self.positions = rng.integers(0, SIZE - CROP, (length, 2)) if keep_generator else None

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        k = i % len(self.photos)
        if self.positions is not None:
            r, c = self.positions[i]
        else:
            r, c = np.random.default_rng(self.seed).integers(0, SIZE - CROP, 2)
        patch = self.photos[k][r:r + CROP, c:c + CROP]
        return torch.from_numpy(patch.copy())[None], k % 4


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 4),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(Patches(seed, 480, fixed), batch_size=24, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(Patches(seed + 9, 96, True), batch_size=48),
    }
