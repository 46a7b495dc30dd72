import math
import torch
from torch import nn

META = {"id": "h9_mdn_inverse", "source": "robotics inverse kinematics notebook", "roots": [], "checks": [],
        "description": "healthy mixture density network for a two-solution arm, log-sum-exp NLL, weight noise, AdamW one-cycle",
        "location": ""}


class MDN(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.k = k
        self.trunk = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi, self.mu, self.ls = nn.Linear(64, k), nn.Linear(64, 2 * k), nn.Linear(64, 2 * k)
        with torch.no_grad():
            self.mu.bias.copy_(torch.randn(2 * k))

    def log_prob(self, x, y):
        h = self.trunk(x)
        mu, ls = self.mu(h).view(-1, self.k, 2), self.ls(h).view(-1, self.k, 2).clamp(-4, 2)
        comp = (-0.5 * ((y[:, None] - mu) / ls.exp()) ** 2 - ls - 0.5 * math.log(2 * math.pi)).sum(-1)
        return torch.logsumexp(self.pi(h).log_softmax(1) + comp, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    th = torch.stack([torch.rand(1280, generator=g) * 1.5, (0.4 + 1.8 * torch.rand(1280, generator=g))
                      * torch.where(torch.rand(1280, generator=g) < 0.5, 1.0, -1.0)], 1)        # elbow up / elbow down
    xy = torch.stack([th[:, 0].cos() + th.sum(1).cos(), th[:, 0].sin() + th.sum(1).sin()], 1)
    model = MDN()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=3000, pct_start=0.02)
    data = [(a, b) for a, b in zip(xy.split(64), th.split(64))]

    def step(batch):
        x, y = batch
        loss = -model.log_prob(x + 0.005 * torch.randn_like(x), y).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        sched.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
