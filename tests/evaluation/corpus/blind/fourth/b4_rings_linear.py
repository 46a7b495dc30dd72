"""Rings in the plane: which of three circles a point lies on."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_rings_linear",
    "source": "CASES.md 46181692 / remove_activation_function",
    "roots": ["insufficient-capacity"],
    "description": "the activations are defined but not used between the layers, so the network is linear",
    "location": "RingNet.forward",
    "shows_in": "one-batch",
}


class RingNet(nn.Module):
    def __init__(self, width=64, depth=3, nonlinear=True):
        super().__init__()
        sizes = [2] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.head = nn.Linear(width, 3)
        self.nonlinear = nonlinear

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if self.nonlinear:
                x = F.leaky_relu(x, 0.1)
        return self.head(x)


def rings(n):
    label = torch.randint(0, 3, (n,))
    radius = 0.6 + 0.6 * label.float() + 0.05 * torch.randn(n)
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), label


def accuracy(logits, label):
    return (logits.argmax(1) == label).float().mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    points, label = rings(512)
    data = list(zip(points.split(64), label.split(64)))
    model = RingNet(nonlinear=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        xy, ring = batch
        return F.cross_entropy(model(xy), ring)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
