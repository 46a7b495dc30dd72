"""Tiny DDPM on a 2-d spiral."""
import copy
import math
import torch
from torch import nn

META = {"id": "b9_ddpm_points", "source": "diffusion repositories with a hand-written EMA class",
        "roots": ["updates-lost", "lr-too-low"], "checks": [],
        "description": "after each update the averaged weights are copied back into the model that is trained, so that an update keeps only a hundredth of itself",
        "location": "end of train_step: EMA"}


class EMA:
    def __init__(self, model, beta=0.99):
        self.beta = beta
        self.shadow = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.beta)

    @torch.no_grad()
    def copy_to(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            p.copy_(s)


class Denoiser(nn.Module):
    def __init__(self, T, dim=96):
        super().__init__()
        self.T = T
        freqs = torch.exp(torch.arange(16) * -(math.log(1000.0) / 15))
        self.register_buffer("freqs", freqs)
        self.time = nn.Sequential(nn.Linear(32, dim), nn.SiLU())
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
                                     for _ in range(3)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        ang = t.float()[:, None] * self.freqs
        h = self.inp(x) + self.time(torch.cat([ang.sin(), ang.cos()], -1))
        for blk in self.blocks:
            h = h + blk(h)
        return self.out(h)


class Diffusion:
    def __init__(self, T=50):
        self.T = T
        betas = torch.linspace(1e-3, 0.12, T)
        self.abar = torch.cumprod(1 - betas, 0)

    def q_sample(self, x0, t, noise):
        a = self.abar[t][:, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise


def spiral(n, seed):
    g = torch.Generator().manual_seed(seed + 2)
    r = torch.rand(n, generator=g).sqrt() * 3 * math.pi
    pts = torch.stack([r * r.cos(), r * r.sin()], 1) / 5.0
    return pts + 0.02 * torch.randn(n, 2, generator=g)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    diffusion = Diffusion()
    model = Denoiser(diffusion.T)
    ema = EMA(model)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    data = list(spiral(1280, seed).split(64))
    rng = torch.Generator().manual_seed(seed + 10)

    def train_step(x0):
        t = torch.randint(0, diffusion.T, (x0.size(0),), generator=rng)
        noise = torch.randn(x0.shape, generator=rng)
        eps = model(diffusion.q_sample(x0, t, noise), t)
        loss = (eps - noise).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        ema.update(model)
        if not fixed:
            ema.copy_to(model)
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": train_step}
