"""Anchor classification with a focal loss."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_focal_anchor",
    "description": 'Focal loss written by hand with alpha 0.25, gamma 2, a prior bias of -4 and division by the number of positives: tiny values, odd bias, but as in RetinaNet.',
    "roots": [],
}


class Head(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1, stride=2), nn.ReLU())
        self.cls = nn.Conv2d(24, classes, 3, padding=1)
        nn.init.normal_(self.cls.weight, std=0.01)
        nn.init.constant_(self.cls.bias, -math.log((1 - 0.018) / 0.018))

    def forward(self, x):
        return self.cls(self.net(x))


def focal(logits, target, alpha=0.25, gamma=2.0):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p_t = p * target + (1 - p) * (1 - target)
    a_t = alpha * target + (1 - alpha) * (1 - target)
    return (a_t * (1 - p_t) ** gamma * ce).sum() / target.sum().clamp(min=1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        img = 0.1 * torch.randn(16, 3, 16, 16)
        target = torch.zeros(16, 3, 8, 8)
        for i in range(16):
            for _ in range(2):
                c, r, k = (int(torch.randint(0, n, ())) for n in (3, 8, 8))
                img[i, c, 2 * r:2 * r + 2, 2 * k:2 * k + 2] += 1.5
                target[i, c, r, k] = 1
        data.append((img, target))
    model = Head()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)

    def loss(model, batch):
        img, target = batch
        return focal(model(img), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
