"""Defect detection on surface patches with noise augmentation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_noise_aug_inplace",
    "source": "own experience; augmentation with in-place ops on tensors that a cached dataset hands out",
    "roots": ["in-place-modification"],
    "description": "the augmentation adds noise in place to the cached images, so the noise piles up from epoch to epoch",
    "location": "augment: images.add_",
    "shows_in": "wiring",
}


class PatchNet(nn.Module):
    def __init__(self, n_classes=6):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(24 * 9, 64), nn.ReLU(), nn.Linear(64, n_classes),
        )

    def forward(self, x):
        return self.net(x)


def augment(images, generator, copy):
    noise = 0.5 * torch.randn(images.shape, generator=generator)
    if copy:
        return images + noise
    return images.add_(noise)


def patches(n, g):
    shared = torch.Generator().manual_seed(77)
    proto = F.interpolate(torch.randn(6, 1, 4, 4, generator=shared), size=12, mode="bilinear")
    y = torch.randint(0, 6, (n,), generator=g)
    return proto[y] + 0.2 * torch.randn(n, 1, 12, 12, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = patches(6 * 32, g)
    data = [(a.clone(), b) for a, b in zip(x.split(32), y.split(32))]
    model = PatchNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    aug_rng = torch.Generator().manual_seed(seed + 9)

    def step(batch):
        images, labels = batch
        images = augment(images, aug_rng, copy=fixed)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
