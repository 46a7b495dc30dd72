"""Handwriting-like glyph classification; the arrays are shuffled before batching."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_shuffle_x",
    "source": "CASES.md 41864333 / 46136553 (images and labels mixed up when making batches)",
    "roots": ["labels-not-aligned"],
    "description": "images and labels are shuffled with two different permutations",
    "location": "shuffled()",
    "shows_in": "full-data",
}


class GlyphNet(nn.Module):
    def __init__(self, classes=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(16 * 9, classes)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def shuffled(images, labels, rng, together):
    order = rng.permutation(len(images))
    images = images[order]
    if not together:
        order = rng.permutation(len(labels))
    return images, labels[order]


def batches(images, labels, size):
    x = torch.from_numpy(images.astype(np.float32))[:, None]
    y = torch.from_numpy(labels)
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    templates = rng.normal(size=(8, 12, 12))
    labels = np.sort(rng.integers(0, 8, 576))
    images = templates[labels] + 0.6 * rng.normal(size=(576, 12, 12))
    images, labels = shuffled(images, labels, rng, together=fixed)
    data = batches(images, labels, 48)
    model = GlyphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
