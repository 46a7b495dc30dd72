from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_oct_ring_patches",
        "source": "many medical-imaging repositories that train a large network on a handful of annotated scans (e.g. MedMNIST forum threads: 'val loss goes up after epoch 3')",
        "roots": ["overfitting"],
        "checks": [],
        "description": "A 200k-parameter network is trained on 96 very noisy patches, which it learns by heart: the training loss goes to 0, the validation loss climbs clearly above its minimum.",
        "location": "build: n_train of PatchConfig"}


@dataclass
class PatchConfig:
    size: int = 14
    n_train: int = 96
    n_val: int = 256
    batch: int = 12
    noise: float = 1.6
    width: int = 256
    lr: float = 2e-3


def scan(n, cfg, g):
    """Rings (label 1) and filled discs (label 0) at random places, speckled."""
    y = torch.randint(0, 2, (n,), generator=g)
    ax = torch.arange(cfg.size).float()
    c = torch.rand(n, 2, generator=g) * 3 + (cfg.size - 4) / 2
    r = 3.0 + 1.5 * torch.rand(n, generator=g)
    d = ((ax[None, :, None] - c[:, 0, None, None]) ** 2 + (ax[None, None, :] - c[:, 1, None, None]) ** 2).sqrt()
    ring = (-(d - r[:, None, None]) ** 2 / 1.5).exp() * 1.6
    disc = torch.sigmoid(2 * (r[:, None, None] - d)) * 1.3
    img = torch.where(y[:, None, None] == 1, ring, disc)
    img = img + cfg.noise * torch.randn(img.shape, generator=g)
    return img.unsqueeze(1), y


class PatchNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * (cfg.size // 2) ** 2, cfg.width), nn.ReLU(),
                                  nn.Linear(cfg.width, 2))

    def forward(self, x):
        return self.head(F.max_pool2d(F.relu(self.stem(x)), 2))


def batches(x, y, k):
    return [(a, b) for a, b in zip(x.split(k), y.split(k))]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cfg = PatchConfig(n_train=3600 if fixed else 96)
    g = torch.Generator().manual_seed(seed + 11)
    val = batches(*scan(cfg.n_val, cfg, g), 64)
    data = batches(*scan(cfg.n_train, cfg, g), cfg.batch)
    model = PatchNet(cfg)
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=cfg.lr), "data": data, "val": val,
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
