"""Classify points on three spirals."""
import math

import torch
import torch.nn as nn

META = {
    "id": "b1_spiral_linear",
    "source": "CASES.md C 46181692 (no activation between the layers)",
    "roots": ["insufficient-capacity"],
    "description": "linear layers follow one another without a nonlinearity: the network is a linear classifier",
    "location": "SpiralNet.layers (no activations)",
    "shows_in": "one-batch",
}


class SpiralNet(nn.Module):
    def __init__(self, activation=None, width=64):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.Linear(2, width),
            nn.Linear(width, width),
            nn.Linear(width, width),
        ])
        self.out = nn.Linear(width, 3)
        self.activation = activation

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if self.activation is not None:
                x = self.activation(x)
        return self.out(x)


def make_spirals(n):
    arm = torch.randint(0, 3, (n,))
    r = 0.1 + 0.9 * torch.rand(n)
    theta = arm * 2 * math.pi / 3 + 3.5 * r + 0.05 * torch.randn(n)
    x = torch.stack([r * torch.cos(theta), r * torch.sin(theta)], dim=1)
    return 2 * x, arm


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size = 48
    points, arms = make_spirals(10 * batch_size)
    loader = []
    for i in range(0, len(points), batch_size):
        loader.append((points[i:i + batch_size], arms[i:i + batch_size]))

    model = SpiralNet(activation=torch.relu if fixed else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        points, arms = batch
        return criterion(model(points), arms)

    return {"model": model, "optimizer": optimizer, "data": loader, "loss": loss}
