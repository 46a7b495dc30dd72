"""SimCLR pre-training on small textures."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_simclr_crops", "source": "self-supervised repositories: augmentation with a module-wide random state that no seed reaches",
        "roots": ["nondeterministic"], "checks": ["is_reproducible"],
        "description": "crops are drawn from a module-wide random.Random that build() does not seed again; a second run goes on where the first one left it",
        "location": "_aug_rng / RandomCropFlip"}

_aug_rng = random.Random(1337)


class RandomCropFlip:
    def __init__(self, size, rng):
        self.size, self.rng = size, rng

    def __call__(self, img):
        _, h, w = img.shape
        top, left = self.rng.randint(0, h - self.size), self.rng.randint(0, w - self.size)
        img = img[:, top:top + self.size, left:left + self.size]
        if self.rng.random() < 0.5:
            img = img.flip(-1)
        return img * self.rng.uniform(0.8, 1.2)


class TwoViews:
    def __init__(self, transform):
        self.transform = transform

    def __call__(self, batch):
        a = torch.stack([self.transform(x) for x in batch])
        b = torch.stack([self.transform(x) for x in batch])
        return a, b


class Encoder(nn.Module):
    def __init__(self, ch=16, proj=16):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, ch, 3, 2, 1), nn.GroupNorm(4, ch), nn.ReLU(),
                               nn.Conv2d(ch, 2 * ch, 3, 2, 1), nn.GroupNorm(4, 2 * ch), nn.ReLU(),
                               nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.g = nn.Sequential(nn.Linear(2 * ch, 2 * ch), nn.ReLU(), nn.Linear(2 * ch, proj))

    def forward(self, x):
        return F.normalize(self.g(self.f(x)), dim=1)


def nt_xent(z1, z2, t=0.2):
    z = torch.cat([z1, z2])
    n = z1.size(0)
    sim = z @ z.t() / t
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


def textures(n, seed):
    g = torch.Generator().manual_seed(seed + 12)
    color = torch.randn(n, 3, 1, 1, generator=g)
    low = F.interpolate(torch.randn(n, 3, 3, 3, generator=g), size=(14, 14), mode="bilinear", align_corners=False)
    return color + low + 0.1 * torch.randn(n, 3, 14, 14, generator=g)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = random.Random(seed) if fixed else _aug_rng
    views = TwoViews(RandomCropFlip(10, rng))
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    data = list(textures(384, seed).split(32))

    def pretrain_step(images):
        model.train()
        a, b = views(images)
        loss = nt_xent(model(a), model(b))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": pretrain_step}
