import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_own_adam_energy",
        "source": "re-implemented Adam in research code: betas passed as (beta2, beta1)",
        "roots": ["bad-momentum"], "checks": [],
        "description": "beta1 and beta2 are given in the wrong order, so the direction is an average over a thousand steps and the scale follows the last ten; the training swings and hardly settles.",
        "location": "build: betas of AdamLike"}


class AdamLike(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if not st:
                    st["n"], st["m"], st["v"] = 0, torch.zeros_like(p), torch.zeros_like(p)
                st["n"] += 1
                st["m"].lerp_(p.grad, 1 - b1)
                st["v"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                denom = (st["v"] / (1 - b2 ** st["n"])).sqrt_().add_(group["eps"])
                p.addcdiv_(st["m"], denom, value=-group["lr"] / (1 - b1 ** st["n"]))


class PairPotential(nn.Module):
    """energy of a small cluster from its pair distances"""

    def __init__(self, n_rbf=12, h=48):
        super().__init__()
        self.register_buffer("mu", torch.linspace(0.2, 3.0, n_rbf))
        self.f = nn.Sequential(nn.Linear(n_rbf, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 1))

    def forward(self, xyz):
        i, j = torch.triu_indices(xyz.size(1), xyz.size(1), 1)
        d = (xyz[:, i] - xyz[:, j]).norm(dim=-1)
        return self.f(torch.exp(-4 * (d.unsqueeze(-1) - self.mu) ** 2)).mean(1).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 25)
    data = []
    i, j = torch.triu_indices(5, 5, 1)
    for _ in range(16):
        xyz = 0.9 * torch.randn(24, 5, 3, generator=g)
        d = (xyz[:, i] - xyz[:, j]).norm(dim=-1)
        e = (torch.exp(-2 * (d - 1)) - 2 * torch.exp(-(d - 1))).clamp(max=3).mean(1)
        data.append({"pos": xyz, "energy": (e + 0.3) / 0.3})
    model = PairPotential()
    opt = AdamLike(model.parameters(), lr=3e-3, betas=(0.9, 0.999) if fixed else (0.999, 0.9))
    return {"model": model, "optimizer": opt, "data": data,
            "loss": lambda m, b: F.mse_loss(m(b["pos"]), b["energy"])}
