"""Thumbnail classification, images preprocessed with numpy."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_thumbs_uint8",
    "source": "CASES.md: taxonomy uber/ludwig issue 107 (8-bit conversion of images), own experience",
    "roots": ["ignores-input", "constant-features"],
    "description": "pixels are scaled to [0, 1) and cast back to uint8, so every image is black",
    "location": "preprocess (astype('uint8') after / 256)",
    "shows_in": "one-batch",
}


def preprocess(images, as_float):
    """(N, H, W, C) bytes -> float tensor (N, C, H, W), centred."""
    scaled = images / 256.0
    if not as_float:
        scaled = scaled.astype("uint8")
    x = torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))).float()
    return (x - 0.5) / 0.25


def thumbnails(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    proto = np.random.default_rng(42).integers(30, 226, (n_classes, 4, 4, 3)).repeat(3, 1).repeat(3, 2)
    y = rng.integers(0, n_classes, n)
    img = proto[y] + rng.normal(0, 25, (n, 12, 12, 3))
    return img.clip(0, 255).astype("uint8"), y


class ThumbNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Conv2d(3, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 9, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    images, labels = thumbnails(6 * 32, 8, seed)
    x = preprocess(images, as_float=fixed)
    y = torch.from_numpy(labels)
    data = [(x[i:i + 32], y[i:i + 32]) for i in range(0, len(x), 32)]
    model = ThumbNet(8)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        xb, yb = batch
        return F.cross_entropy(model(xb), yb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
