"""Cell segmentation in microscope crops with very little hand-drawn validation material."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_cell_outline", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Only five validation images; they are other images than those for training. About a tenth of the pixels are cell.",
    "location": "",
}


def crop(rng, size=32):
    yy, xx = np.mgrid[:size, :size]
    mask = np.zeros((size, size), bool)
    for _ in range(rng.integers(1, 4)):
        cx, cy = rng.uniform(5, size - 5, 2)
        a, b = rng.uniform(3, 5, 2)
        mask |= ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1
    img = rng.normal(0, 0.8, (size, size)) + mask * rng.uniform(1.2, 2.0) + rng.normal(0, 0.3)
    return img[None].astype(np.float32), mask[None].astype(np.float32)


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)

    def batch(n):
        a, b = zip(*[crop(rng) for _ in range(n)])
        return torch.from_numpy(np.stack(a)), torch.from_numpy(np.stack(b))

    data, val = [batch(8) for _ in range(25)], [batch(5)]
    model = nn.Sequential(
        nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 1, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        img, mask = batch
        logits = model(img)
        p = torch.sigmoid(logits)
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        return nn.functional.binary_cross_entropy_with_logits(logits, mask) + dice

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
