import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_lookahead_lion", "source": "Kaggle tabular notebook with custom optimizer", "roots": [], "checks": [],
        "description": "healthy hand-written Lion inside Lookahead on mixed tables with missing values and a constant flag column",
        "location": ""}


class LookaheadLion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), wd=0.0, k=5, alpha=0.5):
        super().__init__(params, dict(lr=lr, betas=betas, wd=wd, k=k, alpha=alpha))

    @torch.no_grad()
    def step(self, closure=None):
        for gr in self.param_groups:
            b1, b2 = gr["betas"]
            for p in gr["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if not st:
                    st["m"], st["slow"], st["n"] = torch.zeros_like(p), p.clone(), 0
                p.mul_(1 - gr["lr"] * gr["wd"])
                p.add_((b1 * st["m"] + (1 - b1) * p.grad).sign(), alpha=-gr["lr"])
                st["m"].lerp_(p.grad, 1 - b2)
                st["n"] += 1
                if st["n"] % gr["k"] == 0:
                    st["slow"].lerp_(p, gr["alpha"])
                    p.copy_(st["slow"])


class TabNet(nn.Module):
    def __init__(self, num_mean, num_std):
        super().__init__()
        self.register_buffer("mean", num_mean), self.register_buffer("std", num_std)
        self.emb = nn.ModuleList([nn.Embedding(n, 4) for n in (7, 12)])
        self.mlp = nn.Sequential(nn.Linear(2 * 6 + 8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, num, cat):
        miss = torch.isnan(num)
        z = torch.where(miss, torch.zeros_like(num), (num - self.mean) / self.std)
        return self.mlp(torch.cat([z, miss.float(), *[e(cat[:, i]) for i, e in enumerate(self.emb)]], 1)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n = 768
    num = torch.randn(n, 6, generator=g) * torch.tensor([1e4, 3.0, 0.02, 50.0, 1.0, 0.0]) + torch.tensor([5e4, 40.0, 0.1, 200, 0, 1.0])
    cat = torch.stack([torch.randint(0, 7, (n,), generator=g), torch.randint(0, 12, (n,), generator=g)], 1)
    eff = torch.randn(7, generator=g)
    logit = (num[:, 0] - 5e4) / 1e4 * 1.5 - (num[:, 1] - 40) / 3 + 1.2 * eff[cat[:, 0]]
    y = (logit > 0).float()
    hole = torch.rand(n, 6, generator=g) < 0.08
    hole[:, 5] = False                                           # "row is active": always 1 in this export
    num[hole] = float("nan")
    mean = torch.nanmean(num, 0)
    std = torch.nanmean((num - mean) ** 2, 0).sqrt()
    model = TabNet(mean, torch.where(std > 0, std, torch.ones_like(std)))
    opt = LookaheadLion(model.parameters(), lr=1.5e-3, wd=0.05)
    data = [{"num": num[s], "cat": cat[s], "y": y[s]} for s in torch.arange(n).split(48)]

    def step(b):
        loss = F.binary_cross_entropy_with_logits(model(b["num"], b["cat"]), b["y"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
