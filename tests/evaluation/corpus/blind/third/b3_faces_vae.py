"""Variational autoencoder for small grey images."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_faces_vae",
    "source": "CASES.md E pyro-ppl/pyro issue 731 kind (wrong loss calculation); own experience",
    "roots": ["wrong-loss-sign"],
    "description": "the KL term is subtracted: the loss rewards a posterior as far from the prior as possible and falls without bound",
    "location": "loss: recon - BETA * kl",
    "shows_in": "one-batch",
}

BETA = 0.01


class VAE(nn.Module):
    def __init__(self, n_pixels=144, latent=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_pixels, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent)
        self.logvar = nn.Linear(64, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, n_pixels))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def make_images(g, n):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
    cx = torch.rand(n, 1, 1, generator=g) - 0.5
    cy = torch.rand(n, 1, 1, generator=g) - 0.5
    r = 0.2 + 0.2 * torch.rand(n, 1, 1, generator=g)
    img = torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / r ** 2)
    return (3 * img).flatten(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 30)
    data = list(make_images(g, 8 * 32).split(32))
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        recon, mu, logvar = model(batch)
        mse = F.mse_loss(recon, batch, reduction="sum") / len(batch)
        kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(dim=1).mean()
        if fixed:
            return mse + BETA * kl
        return mse - BETA * kl

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
