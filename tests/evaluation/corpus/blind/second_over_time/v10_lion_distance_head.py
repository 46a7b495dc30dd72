import torch
from torch import nn

META = {"id": "v10_lion_distance_head",
        "source": "Lion / signSGD ports without the schedule of the paper (lion-pytorch issues: 'loss stalls at a level, a lower lr goes lower')",
        "roots": ["needs-lr-decay", "lr-too-high"],
        "checks": [],
        "description": "Steps by the sign of the momentum have a constant length; without decay the loss falls quickly and then jitters about a level that only the learning rate sets.",
        "location": "build: no schedule for Lion"}


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99)):
        super().__init__(params, dict(lr=lr, betas=betas))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if not st:
                    st["m"] = torch.zeros_like(p)
                p.add_((b1 * st["m"] + (1 - b1) * p.grad).sign_(), alpha=-group["lr"])
                st["m"].mul_(b2).add_(p.grad, alpha=1 - b2)


class DistanceHead(nn.Module):
    def __init__(self, dim=16, hidden=64):
        super().__init__()
        self.up = nn.Linear(2 * dim, hidden)
        self.down = nn.Linear(hidden, 1)

    def forward(self, a, b):
        return self.down(torch.tanh(self.up(torch.cat([a, b], 1)))).squeeze(1)


def pairs(n, g, w, dim=16):
    a, b = torch.randn(n, dim, generator=g), torch.randn(n, dim, generator=g)
    return a, b, torch.tanh((a - b) @ w) @ torch.tensor([0.8, -0.6])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 23)
    w = torch.randn(16, 2, generator=g) / 5
    def cut(n, k):
        return list(zip(*(t.split(k) for t in pairs(n, g, w))))
    data, val = cut(1024, 32), cut(256, 64)
    model = DistanceHead()
    opt = Lion(model.parameters(), lr=6e-3)
    out = {"model": model, "optimizer": opt, "data": data, "val": val,
           "loss": lambda m, batch: (m(batch[0], batch[1]) - batch[2]).square().mean()}
    if fixed:
        out["scheduler"] = torch.optim.lr_scheduler.ExponentialLR(opt, 0.7)
    return out
