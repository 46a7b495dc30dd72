"""Sensor fusion regression: the encoder's features are standardised before the head."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b4_numpy_zscore",
    "source": "own experience; forum pattern 'no gradient after .numpy() in forward'",
    "roots": ["disconnected-graph"],
    "description": "features go through numpy for the z-score inside forward, so the encoder gets no gradient",
    "location": "FusionNet.standardise",
    "shows_in": "one-batch",
}


class FusionNet(nn.Module):
    def __init__(self, through_numpy):
        super().__init__()
        self.through_numpy = through_numpy
        self.encoder = nn.Sequential(nn.Linear(20, 96), nn.Tanh(), nn.Linear(96, 6))
        self.head = nn.Linear(6, 1)

    def standardise(self, z):
        if self.through_numpy:
            z = z.detach().cpu().numpy()
            z = (z - z.mean(axis=1, keepdims=True)) / (z.std(axis=1, keepdims=True) + 1e-5)
            return torch.from_numpy(np.ascontiguousarray(z))
        mean = z.mean(dim=1, keepdim=True)
        std = z.std(dim=1, keepdim=True, unbiased=False)
        return (z - mean) / (std + 1e-5)

    def forward(self, x):
        return self.head(self.standardise(self.encoder(x)))[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = torch.randn(512, 20)
    w = torch.randn(20, 2)
    s = x @ w / 4.5
    y = torch.sin(2 * s[:, 0]) + s[:, 1]
    data = [(x[i:i + 64], y[i:i + 64]) for i in range(0, 512, 64)]
    model = FusionNet(through_numpy=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)

    def loss(model, batch):
        readings, target = batch
        return ((model(readings) - target) ** 2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
