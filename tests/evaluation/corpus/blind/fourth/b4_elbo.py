"""Variational autoencoder on two-factor curves."""
import torch
import torch.nn as nn

META = {
    "id": "b4_elbo",
    "source": "own experience (ELBO written down with the sign of the KL term mixed up); cf. CASES.md flipped_sign",
    "roots": ["wrong-loss-sign"],
    "description": "the KL divergence is subtracted from the reconstruction error instead of added",
    "location": "kl term in the loss",
    "shows_in": "one-batch",
}


class VAE(nn.Module):
    def __init__(self, n_in=24, hidden=64, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, n_in))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-10, 10)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def curves(n, steps=24):
    t = torch.linspace(0, 6.28, steps)
    a, b = torch.randn(n, 1), torch.randn(n, 1)
    return 2 * a * torch.sin(t) + 2 * b * torch.cos(2 * t)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = curves(384)
    data = list(x.split(48))
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    sign = 1.0 if fixed else -1.0
    beta = 2e-3

    def loss(model, x):
        recon, mu, logvar = model(x)
        rec = (recon - x).pow(2).sum(1).mean() / x.size(1)
        kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()
        return rec + sign * beta * kl

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
