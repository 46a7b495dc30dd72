"""VICReg: invariance, variance and covariance terms."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_vicreg",
    "description": 'Sum of three weighted terms (25, 25, 1), one of them a hinge on the standard deviation; no negatives, no stop-gradient, and no collapse.',
    "roots": [],
}


class Expander(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.exp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 24))

    def forward(self, x):
        return self.exp(self.enc(x))


def off_diag_cov(z):
    z = z - z.mean(0)
    c = z.t() @ z / (len(z) - 1)
    return (c.pow(2).sum() - torch.diagonal(c).pow(2).sum()) / z.shape[1]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mix = torch.randn(20, 24)
    data = [torch.randn(64, 20) @ mix for _ in range(8)]
    model = Expander()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-6)

    def loss(model, x):
        za = model(x + 0.3 * torch.randn_like(x))
        zb = model(x + 0.3 * torch.randn_like(x))
        inv = F.mse_loss(za, zb)
        var = sum(F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean() for z in (za, zb))
        return 25 * inv + 25 * var + off_diag_cov(za) + off_diag_cov(zb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
