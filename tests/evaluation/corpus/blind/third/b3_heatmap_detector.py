"""Keypoint heat-map detector: a small fully convolutional network with the usual prior on the output bias."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_heatmap_detector",
    "source": "CASES.md H 'relu'; own experience (RetinaNet prior bias applied to every convolution)",
    "roots": ["dead-activations", "bad-initialization"],
    "description": "the prior bias -log((1-p)/p) meant for the output layer is given to all convolutions: their ReLUs never fire",
    "location": "init_prior: bias of all Conv2d",
    "shows_in": "one-batch",
}

PRIOR = 0.01


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
        )
        self.heat = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        return self.heat(self.body(x))


def init_prior(model, fixed):
    value = -math.log((1 - PRIOR) / PRIOR)
    if fixed:
        nn.init.constant_(model.heat.bias, value)
        return
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.constant_(m.bias, value)


def make_data(g, n_batches=6, batch=12, size=12):
    data = []
    for _ in range(n_batches):
        x = 0.3 * torch.randn(batch, 1, size, size, generator=g)
        y = torch.zeros(batch, 1, size, size)
        for i in range(batch):
            for _ in range(3):
                r, c = torch.randint(1, size - 1, (2,), generator=g).tolist()
                x[i, 0, r, c - 1:c + 2] += 1.5
                x[i, 0, r - 1:r + 2, c] += 1.5
                y[i, 0, r, c] = 1.0
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 33)
    data = make_data(g)
    model = Detector()
    init_prior(model, fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return F.binary_cross_entropy_with_logits(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
