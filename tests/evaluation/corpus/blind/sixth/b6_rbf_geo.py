"""Radial-basis regression on map coordinates, trained under bfloat16 autocast."""
import contextlib

import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_rbf_geo",
    "source": "pairwise distances by |x|^2+|c|^2-2xc under autocast (kNN / VQ / RBF code; cf. VQ-VAE autocast fixes)",
    "roots": ["precision-mismatch"],
    "checks": ["keeps_precision"],
    "description": "The matmul of the squared-distance expansion runs in bfloat16 under autocast; with coordinates around 30 the cancellation error exceeds the distances.",
    "location": "RBFLayer.forward: x @ self.centers.t()",
}


class RBFLayer(nn.Module):
    def __init__(self, centers, keep_float=False):
        super().__init__()
        self.centers = nn.Parameter(centers.clone())
        self.log_width = nn.Parameter(torch.zeros(len(centers)))
        self.keep_float = keep_float

    def forward(self, x):
        ctx = torch.autocast("cpu", enabled=False) if self.keep_float else contextlib.nullcontext()
        with ctx:
            x = x.float()
            sq = x.pow(2).sum(1, keepdim=True) + self.centers.pow(2).sum(1)
            d2 = (sq - 2 * (x @ self.centers.t())).clamp_min(0)
            return torch.exp(-0.5 * d2 * torch.exp(self.log_width))


class GeoNet(nn.Module):
    def __init__(self, centers, keep_float):
        super().__init__()
        self.rbf = RBFLayer(centers, keep_float)
        self.head = nn.Sequential(nn.Linear(len(centers), 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, xy):
        return self.head(self.rbf(xy)).squeeze(-1)


def loss_fn(model, batch):
    xy, z = batch
    return F.mse_loss(model(xy).float(), z)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    origin = torch.tensor([36.0, 29.0])
    data = []
    for _ in range(8):
        local = 4 * torch.rand(48, 2) - 2
        z = torch.sin(1.5 * local[:, 0]) + 0.5 * torch.cos(2 * local[:, 1]) + 0.3 * local[:, 0]
        data.append((origin + local, z))
    g = torch.linspace(-2, 2, 5)
    centers = origin + torch.cartesian_prod(g, g)
    model = GeoNet(centers, keep_float=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn, "precision": torch.bfloat16}
