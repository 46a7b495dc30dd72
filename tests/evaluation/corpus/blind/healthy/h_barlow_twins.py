"""Barlow Twins on noisy views."""
import torch
import torch.nn as nn

META = {
    "id": "h_barlow_twins",
    "description": 'Loss on the cross-correlation matrix of the batch, summed over pairs of features: large numbers, no labels, needs BatchNorm.',
    "roots": [],
}


class Twins(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(30, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16, bias=False))
        self.bn = nn.BatchNorm1d(16, affine=False)

    def forward(self, a, b):
        za = self.bn(self.projector(self.backbone(a)))
        zb = self.bn(self.projector(self.backbone(b)))
        return za.t() @ zb / len(a)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mix = torch.randn(20, 30)
    data = [torch.randn(64, 20) @ mix for _ in range(8)]
    model = Twins()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def view(x):
        return x + 0.3 * torch.randn_like(x)

    def loss(model, x):
        c = model(view(x), view(x))
        on = (torch.diagonal(c) - 1).pow(2).sum()
        off = c.pow(2).sum() - torch.diagonal(c).pow(2).sum()
        return on + 0.1 * off

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
