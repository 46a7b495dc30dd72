from __future__ import annotations
import torch
from torch import nn, Tensor
import torch.nn.functional as F

META = {"id": "b9_vae_digits", "source": "VAE tutorials (KL term written without its minus)",
        "roots": ["wrong-loss-sign"], "checks": [],
        "description": "the closed form of the KL divergence lacks its minus sign, so the posterior is driven away from the prior without bound",
        "location": "kl_divergence"}


class ConvVAE(nn.Module):
    def __init__(self, latent: int = 8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 12, 4, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 4, 2, 1), nn.ReLU(), nn.Flatten())
        self.to_mu = nn.Linear(24 * 9, latent)
        self.to_logvar = nn.Linear(24 * 9, latent)
        self.dec_in = nn.Linear(latent, 24 * 9)
        self.dec = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(12, 1, 4, 2, 1))

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x: Tensor):
        h = self.enc(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        z = self.reparameterize(mu, logvar)
        return self.dec(self.dec_in(z).view(-1, 24, 3, 3)), mu, logvar


def kl_divergence(mu: Tensor, logvar: Tensor, fixed: bool) -> Tensor:
    inner = torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
    return (-0.5 * inner if fixed else 0.5 * inner).mean()


def glyphs(n: int, seed: int) -> Tensor:
    g = torch.Generator().manual_seed(seed + 4)
    proto = (torch.rand(8, 1, 6, 6, generator=g) > 0.55).float()
    idx = torch.randint(0, 8, (n,), generator=g)
    img = F.interpolate(proto[idx], size=(12, 12), mode="nearest")
    flip = (torch.rand(n, 1, 12, 12, generator=g) < 0.02).float()
    return (img - flip).abs()


class Experiment:
    def __init__(self, vae: ConvVAE, lr: float, beta: float, fixed: bool):
        self.vae, self.beta, self.fixed = vae, beta, fixed
        self.optimizer = torch.optim.Adam(vae.parameters(), lr=lr)

    def objective(self, x: Tensor) -> Tensor:
        recon, mu, logvar = self.vae(x)
        rec = F.binary_cross_entropy_with_logits(recon, x, reduction="none").sum((1, 2, 3)).mean()
        return (rec + self.beta * kl_divergence(mu, logvar, self.fixed)) / x[0].numel()

    def training_step(self, x: Tensor) -> Tensor:
        self.vae.train()
        loss = self.objective(x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    exp = Experiment(ConvVAE(), lr=3e-3, beta=0.2, fixed=fixed)
    return {"model": exp.vae, "optimizer": exp.optimizer, "data": list(glyphs(512, seed).split(32)), "step": exp.training_step}
