import copy, math
import torch
from torch import nn

META = {"id": "h9_ddpm_ema", "source": "diffusion minimal implementation", "roots": [], "checks": [],
        "description": "healthy class-conditional DDPM on 2-D data: cosine schedule, classifier-free dropout, min-SNR weights, EMA",
        "location": ""}
T = 200


class Denoiser(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.register_buffer("freq", torch.exp(torch.linspace(0, 5, 12)))
        self.cls = nn.Embedding(4, 24)
        self.inp = nn.Linear(2 + 24 + 24, h)
        self.mid = nn.ModuleList([nn.Sequential(nn.LayerNorm(h), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h)) for _ in range(2)])
        self.out = nn.Linear(h, 2)
        nn.init.zeros_(self.out.weight), nn.init.zeros_(self.out.bias)

    def forward(self, x, t, c):
        a = t[:, None].float() / T * self.freq
        h = self.inp(torch.cat([x, a.sin(), a.cos(), self.cls(c)], 1))
        for m in self.mid:
            h = h + m(h)
        return self.out(torch.nn.functional.silu(h))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    centres = torch.tensor([[1.2, 0.0], [-0.8, 0.9], [-0.6, -1.1]])
    c = torch.randint(0, 3, (64 * 16,), generator=g)
    x = centres[c] + 0.1 * torch.randn(len(c), 2, generator=g)
    data = [{"x0": a, "label": b} for a, b in zip(x.split(64), c.split(64))]
    model = Denoiser()
    ema = copy.deepcopy(model).requires_grad_(False).eval()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    s = torch.arange(T + 1) / T
    bar = torch.cos((s + 0.008) / 1.008 * math.pi / 2) ** 2
    bar = (bar / bar[0])[1:].clamp(1e-4, 0.9999)

    def step(b):
        x0, lab = b["x0"], b["label"].clone()
        lab[torch.rand(len(lab)) < 0.1] = 3
        t = torch.randint(0, T, (len(x0),))
        ab = bar[t][:, None]
        eps = torch.randn_like(x0)
        pred = model(ab.sqrt() * x0 + (1 - ab).sqrt() * eps, t, lab)
        snr = ab / (1 - ab)
        w = torch.minimum(snr, torch.tensor(5.0)) / snr
        loss = (w * (pred - eps) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for e, p in zip(ema.parameters(), model.parameters()):
                e.lerp_(p, 0.02)
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
