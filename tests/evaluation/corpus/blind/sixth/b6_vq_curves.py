"""VQ-VAE on short curves."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_vq_curves",
    "source": "VQ-VAE re-implementations without the straight-through line (z + (q - z).detach())",
    "roots": ["disconnected-graph"],
    "checks": [],
    "description": "The decoder receives the looked-up code vectors directly; argmin cuts the graph and no reconstruction gradient reaches the encoder, which only follows the commitment term.",
    "location": "Quantizer.forward: returns q",
}


class Quantizer(nn.Module):
    def __init__(self, codes, dim, beta=0.25, passthrough=False):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        nn.init.normal_(self.codebook.weight, std=0.4)
        self.beta = beta
        self.passthrough = passthrough

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        idx = torch.cdist(flat, self.codebook.weight).argmin(1)
        q = self.codebook(idx).view_as(z)
        vq = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        if self.passthrough:
            q = z + (q - z).detach()
        return q, vq


class VQVAE(nn.Module):
    def __init__(self, n=24, slots=8, dim=2, passthrough=False):
        super().__init__()
        self.slots, self.dim = slots, dim
        self.encoder = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, slots * dim))
        self.quantizer = Quantizer(32, dim, passthrough=passthrough)
        self.decoder = nn.Sequential(nn.Linear(slots * dim, 64), nn.ReLU(), nn.Linear(64, n))

    def forward(self, x):
        z = self.encoder(x).view(-1, self.slots, self.dim)
        q, vq = self.quantizer(z)
        return self.decoder(q.flatten(1)), vq


def loss_fn(model, x):
    recon, vq = model(x)
    return F.mse_loss(recon, x) + 0.5 * vq


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.linspace(0, 1, 24)
    data = []
    for _ in range(8):
        a, b = torch.randn(48, 1), torch.rand(48, 1)
        data.append(a * torch.sin(6.28 * (t + b)) + 0.8 * torch.sign(a) * t)
    model = VQVAE(passthrough=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
