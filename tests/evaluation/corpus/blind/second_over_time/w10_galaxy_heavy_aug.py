import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "w10_galaxy_heavy_aug",
        "source": "Galaxy-Zoo type classifiers with flips, rotations, cut-out and strong noise in training only",
        "roots": [],
        "checks": [],
        "description": "Healthy: every training picture is flipped, turned, partly erased and noised once before batching; validation pictures are clean, so the validation loss lies below the training loss.",
        "location": ""}


class Sky:
    side = 14

    def __init__(self, g):
        self.g = g

    def __call__(self, n):
        g, s = self.g, self.side
        y = torch.randint(0, 3, (n,), generator=g)
        ax = torch.linspace(-1, 1, s)
        v, u = torch.meshgrid(ax, ax, indexing="ij")
        phi = math.pi * torch.rand(n, 1, 1, generator=g)
        a, b = u * phi.cos() + v * phi.sin(), v * phi.cos() - u * phi.sin()
        r = (a ** 2 + b ** 2).sqrt()
        round_ = torch.exp(-(r / 0.55) ** 2)
        edge_on = torch.exp(-(a / 0.8) ** 2 - (b / 0.18) ** 2)
        ring = torch.exp(-((r - 0.6) / 0.15) ** 2) + 0.4 * torch.exp(-(r / 0.2) ** 2)
        pic = torch.stack([round_, edge_on, ring])[y, torch.arange(n)]
        return (pic * (0.8 + 0.6 * torch.rand(n, 1, 1, generator=g)) * 2 - 0.5)[:, None], y


class Augment:
    def __init__(self, g):
        self.g = g

    def one(self, p):
        if torch.rand(1, generator=self.g) < 0.5:
            p = p.flip(-1)
        p = torch.rot90(p, int(torch.randint(0, 4, (1,), generator=self.g)), (-2, -1)).clone()
        i, j = torch.randint(0, p.shape[-1] - 4, (2,), generator=self.g).tolist()
        p[..., i:i + 4, j:j + 4] = 0
        return p + 0.5 * torch.randn(p.shape, generator=self.g)

    def __call__(self, x):
        return torch.stack([self.one(p) for p in x])


class Morphology(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(1, 16, 5, padding=2)
        self.b = nn.Conv2d(16, 24, 3, padding=1)
        self.c = nn.Linear(24 * 9, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.a(x)), 2)
        return self.c(F.max_pool2d(F.relu(self.b(x)), 2).flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 403)
    sky, aug = Sky(g), Augment(g)
    x, y = sky(1280)
    data = list(zip(aug(x).split(32), y.split(32)))
    xv, yv = sky(256)
    xv = xv + 0.1 * torch.randn(xv.shape, generator=g)
    model = Morphology()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=2e-3), "data": data,
            "val": list(zip(xv.split(64), yv.split(64))), "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
