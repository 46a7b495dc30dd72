import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_ddpm_spiral", "source": "healthy; tiny-diffusion like repository",
        "roots": [], "checks": [], "description": "epsilon-prediction diffusion with EMA weights and random timesteps", "location": ""}


class TimeEmbed(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, math.log(50), dim // 2)))

    def forward(self, t):
        a = t[:, None] * self.freq
        return torch.cat([a.sin(), a.cos()], 1)


class Denoiser(nn.Module):
    def __init__(self, w=96):
        super().__init__()
        self.temb = TimeEmbed(16)
        self.inp = nn.Linear(2 + 16, w)
        self.mid = nn.ModuleList(nn.Sequential(nn.LayerNorm(w), nn.Linear(w, w), nn.GELU()) for _ in range(3))
        self.out = nn.Linear(w, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        h = self.inp(torch.cat([x, self.temb(t)], 1))
        for m in self.mid:
            h = h + m(h)
        return self.out(h)


class EMA:
    def __init__(self, m, decay=0.98):
        self.shadow = copy.deepcopy(m).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, m):
        for s, p in zip(self.shadow.parameters(), m.parameters()):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 2)
    r = torch.rand(64 * 24, generator=g).sqrt()
    x0 = torch.stack([r * torch.cos(9 * r), r * torch.sin(9 * r)], 1) * 2 + 0.02 * torch.randn(64 * 24, 2, generator=g)
    T = 50
    abar = torch.cumprod(1 - torch.linspace(1e-3, 0.12, T), 0)
    net = Denoiser()
    ema = EMA(net)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)

    def train_step(x):
        t = torch.randint(0, T, (len(x),))
        eps = torch.randn_like(x)
        a = abar[t][:, None]
        pred = net(a.sqrt() * x + (1 - a).sqrt() * eps, t / T)
        loss = F.mse_loss(pred, eps)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        ema.update(net)
        return loss.item()

    return {"model": net, "optimizer": opt, "data": list(x0.split(64)), "step": train_step}
