import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_pollen_multicrop",
        "source": "the NumPy-seed-in-DataLoader bug (Tanel Parnamaa 2021; pytorch issue 5059): each call of the augmentation starts from the same random state",
        "roots": ["duplicated-samples", "overfitting"],
        "checks": [],
        "description": "The augmentation draws from a generator that is made anew with the same seed for each sample, so all sixteen crops of a picture are one and the same crop and an epoch holds sixteen copies of it.",
        "location": "RandomCrop.__call__: the generator is created per call"}

BIG, CROP, KINDS = 18, 10, 3


class RandomCrop:
    def __init__(self, seed, shared):
        self.seed, self.rng = seed, np.random.default_rng(seed) if shared else None

    def __call__(self, img):
        rng = self.rng or np.random.default_rng(self.seed)
        i, j = rng.integers(0, BIG - CROP + 1, 2)
        out = img[i:i + CROP, j:j + CROP]
        if rng.random() < 0.5:
            out = out[:, ::-1]
        return out * rng.uniform(0.8, 1.2) + 0.15 * rng.standard_normal(out.shape)


def slides(n, rng):
    kinds = rng.integers(0, KINDS, n)
    yy, xx = np.mgrid[0:BIG, 0:BIG]
    out = np.empty((n, BIG, BIG))
    for k, kind in enumerate(kinds):
        p, q = rng.uniform(0, 6.28, 2)
        f = rng.uniform(0.9, 1.5)
        wave = {0: np.sin(f * xx + p), 1: np.sin(f * yy + p), 2: np.sin(f * xx + p) * np.sin(f * yy + q) * 1.4}[int(kind)]
        out[k] = wave + 1.1 * rng.standard_normal((BIG, BIG))
    return out, kinds


class PollenNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 24, 3)
        self.fc1 = nn.Linear(24 * 16, 64)
        self.fc2 = nn.Linear(64, KINDS)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


def crops(imgs, kinds, views, crop, rng, size):
    order = rng.permutation(np.repeat(np.arange(len(imgs)), views))
    x = torch.tensor(np.stack([crop(imgs[i]) for i in order]), dtype=torch.float32)[:, None]
    y = torch.tensor(kinds[order])
    return list(zip(x.split(size), y.split(size)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 50)
    train, val = slides(72, rng), slides(240, rng)
    data = crops(*train, 16, RandomCrop(seed, shared=fixed), rng, 32)
    held = crops(*val, 1, RandomCrop(seed + 1, shared=True), rng, 60)
    net = PollenNet()
    return {"model": net, "optimizer": torch.optim.Adam(net.parameters(), lr=2e-3), "data": data, "val": held,
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
