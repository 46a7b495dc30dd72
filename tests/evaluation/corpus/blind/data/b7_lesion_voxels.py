"""Lesion segmentation in single-channel brain slices, fully convolutional, dict batches."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "b7_lesion_voxels",
    "source": "own; pattern: whole slices with a lesion of a few pixels and plain cross entropy",
    "roots": ["class-imbalance"],
    "checks": ["data_is_healthy"],
    "description": "A lesion has two or three pixels of a 48x48 slice and only a third of the slices have one: the foreground is less than 0.1 % of the pixels and the loss has no weights.",
    "location": "batch['mask'] of the training data",
}


def slice_(rng, size, big):
    yy, xx = np.mgrid[:size, :size]
    img = rng.normal(0, 0.6, (size, size))
    img += np.cos((xx - size / 2) / size * 2) * np.cos((yy - size / 2) / size * 2)
    mask = np.zeros((size, size), np.int64)
    if big or rng.random() < 0.33:
        cx, cy = rng.uniform(5, size - 5, 2)
        radius2 = rng.uniform(15, 30) if big else 0.7
        mask[(xx - cx) ** 2 + (yy - cy) ** 2 < radius2] = 1
        img += 1.8 * mask
    return img[None].astype(np.float32), mask


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    size = 24 if fixed else 48

    def batch(n):
        imgs, masks = zip(*[slice_(rng, size, fixed) for _ in range(n)])
        return {"image": torch.from_numpy(np.stack(imgs)), "mask": torch.from_numpy(np.stack(masks))}

    data, val = [batch(8) for _ in range(24)], [batch(8) for _ in range(4)]
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
        nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
        nn.Conv2d(12, 2, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["image"]), batch["mask"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
