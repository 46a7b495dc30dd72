import math
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_ladder_vae", "source": "generative models course", "roots": [], "checks": [],
        "description": "healthy VAE with two latent layers, free bits and Bernoulli pixels", "location": ""}


class LadderVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU())
        self.q1, self.q2 = nn.Linear(96, 16), nn.Linear(96 + 8, 8)
        self.p1 = nn.Sequential(nn.Linear(4, 48), nn.GELU(), nn.Linear(48, 16))
        self.dec = nn.Sequential(nn.Linear(8, 96), nn.GELU(), nn.Linear(96, 64))

    @staticmethod
    def draw(stats):
        mu, lv = stats.chunk(2, -1)
        lv = lv.clamp(-8, 4)
        return mu + torch.randn_like(mu) * (0.5 * lv).exp(), mu, lv

    @staticmethod
    def kl(mq, lq, mp, lp):
        return 0.5 * (lp - lq + (lq.exp() + (mq - mp) ** 2) / lp.exp() - 1)

    def forward(self, x, free=0.03):
        h = self.enc(x)
        z1, m1, l1 = self.draw(self.q1(h))
        z2, m2, l2 = self.draw(self.q2(torch.cat([h, z1], -1)))
        pm, pl = self.p1(z2).chunk(2, -1)
        k1 = self.kl(m1, l1, pm, pl.clamp(-8, 4)).mean(0).clamp_min(free).sum()
        k2 = self.kl(m2, l2, torch.zeros_like(m2), torch.zeros_like(l2)).mean(0).clamp_min(free).sum()
        rec = F.binary_cross_entropy_with_logits(self.dec(z1), x, reduction="none").sum(-1).mean()
        return rec, k1 + k2


def digits(n, g):
    proto = (torch.rand(6, 64, generator=g) < 0.4).float()
    x = proto[torch.randint(0, 6, (n,), generator=g)]
    flip = (torch.rand(n, 64, generator=g) < 0.03).float()
    return (x - flip).abs()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    big = digits(64 * 10, torch.Generator().manual_seed(seed))
    data = list(big.split(64))
    model = LadderVAE()
    opt = torch.optim.Adamax(model.parameters(), lr=1e-2)

    def step(x):
        rec, kl = model(x)
        elbo = (rec + kl) / (64 * math.log(2))          # bits per pixel
        opt.zero_grad()
        elbo.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        return elbo.detach()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
