"""Variational autoencoder for small sensor images."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_vae_kl_sign",
    "source": "FluxML/model-zoo PR 147 (sign in the KL term); CASES.md: TheDeepChecker flipped_sign",
    "roots": ["wrong-loss-sign"],
    "description": "the KL term enters with the wrong sign: the loss falls without bound as the posterior runs away from the prior",
    "location": "vae_loss: kl",
    "shows_in": "one-batch",
}


class VAE(nn.Module):
    def __init__(self, n_in=64, width=96, n_latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, width), nn.ReLU())
        self.mu = nn.Linear(width, n_latent)
        self.logvar = nn.Linear(width, n_latent)
        self.dec = nn.Sequential(nn.Linear(n_latent, width), nn.ReLU(), nn.Linear(width, n_in))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def vae_loss(recon, x, mu, logvar, beta, fixed):
    rec = F.mse_loss(recon, x)
    inner = (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    kl = -0.5 * inner if fixed else 0.5 * inner
    return rec + beta * kl


def bumps(n, g):
    pos = torch.rand(n, 2, generator=g) * 5 + 1
    axis = torch.arange(8).float()
    d2 = (axis.view(1, 1, -1) - pos[:, 0].view(-1, 1, 1)) ** 2 + (axis.view(1, -1, 1) - pos[:, 1].view(-1, 1, 1)) ** 2
    x = torch.exp(-d2 / 4).flatten(1)
    return (x - x.mean()) / x.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = list(bumps(8 * 32, g).split(32))
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, x):
        recon, mu, logvar = model(x)
        return vae_loss(recon, x, mu, logvar, beta=1e-3, fixed=fixed)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
