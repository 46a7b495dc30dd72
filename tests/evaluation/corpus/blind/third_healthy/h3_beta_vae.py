from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_beta_vae", "source": "healthy; binary VAE with KL annealing",
        "roots": [], "checks": [], "description": "VAE on blob images, ELBO summed over pixels and divided by batch", "location": ""}


@dataclass
class Cfg:
    side: int = 8
    latent: int = 4
    hidden: int = 96
    lr: float = 2e-3
    warm: int = 60


class VAE(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(c.side ** 2, c.hidden), nn.SiLU())
        self.mu, self.logvar = nn.Linear(c.hidden, c.latent), nn.Linear(c.hidden, c.latent)
        self.dec = nn.Sequential(nn.Linear(c.latent, c.hidden), nn.SiLU(), nn.Linear(c.hidden, c.side ** 2))

    def forward(self, x):
        h = self.enc(x)
        mu, lv = self.mu(h), self.logvar(h).clamp(-8, 4)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv


def blobs(n, side, g):
    yy, xx = torch.meshgrid(torch.arange(side).float(), torch.arange(side).float(), indexing="ij")
    c = torch.rand(n, 2, generator=g) * (side - 3) + 1
    s = torch.rand(n, 1, 1, generator=g) + 1.0
    d2 = (yy - c[:, 0, None, None]) ** 2 + (xx - c[:, 1, None, None]) ** 2
    return torch.exp(-d2 / (2 * s ** 2)).flatten(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cfg = Cfg()
    g = torch.Generator().manual_seed(seed)
    data = [{"image": b} for b in blobs(32 * 24, cfg.side, g).split(32)]
    vae = VAE(cfg)
    opt = torch.optim.Adam(vae.parameters(), lr=cfg.lr)
    state = {"it": 0}

    def step(batch):
        x = batch["image"]
        beta = min(1.0, 0.1 + state["it"] / cfg.warm)
        rec, mu, lv = vae(x)
        bce = F.binary_cross_entropy_with_logits(rec, x, reduction="sum") / len(x)
        kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()
        loss = bce + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        state["it"] += 1
        return (bce + kl).detach()

    return {"model": vae, "optimizer": opt, "data": data, "step": step}
