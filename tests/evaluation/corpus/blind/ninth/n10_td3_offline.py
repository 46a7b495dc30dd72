import copy
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_td3_offline",
        "source": "TD3/SAC re-implementations where the second critic was added later and the optimizer line was not touched",
        "roots": ["parameters-not-in-optimizer"], "checks": [],
        "description": "The critic optimizer holds only the first of the twin critics; the second gets gradients but is never updated, so the clipped double-Q target is wrong.",
        "location": "build: critic_opt"}


@dataclass
class Cfg:
    obs: int = 6
    act: int = 2
    gamma: float = 0.6
    tau: float = 0.05
    bc: float = 2.5


class Actor(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(c.obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, c.act), nn.Tanh())

    def forward(self, s):
        return self.body(s)


class QNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(c.obs + c.act, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))

    def forward(self, s, a):
        return self.body(torch.cat([s, a], -1)).squeeze(-1)


def soft_update(dst, src, tau):
    with torch.no_grad():
        for d, s in zip(dst.parameters(), src.parameters()):
            d.lerp_(s, tau)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    c = Cfg()
    g = torch.Generator().manual_seed(seed + 3)
    w = torch.randn(c.obs, c.act, generator=g) * 0.4
    t = torch.randn(c.obs, c.obs, generator=g) * 0.2
    data = []
    for _ in range(20):
        s = torch.randn(64, c.obs, generator=g)
        a = (torch.tanh(s @ w) + 0.3 * torch.randn(64, c.act, generator=g)).clamp(-1, 1)
        r = 1.0 - (a - torch.tanh(s @ w)).pow(2).sum(-1) + torch.sin(s[:, 0])
        s2 = s @ t + 0.5 * torch.cat([a, a, a], -1)
        done = (torch.rand(64, generator=g) < 0.2).float()
        data.append({"obs": s, "act": a, "rew": r, "next": s2, "done": done})
    model = nn.ModuleDict({"actor": Actor(c), "q1": QNet(c), "q2": QNet(c)})
    target = copy.deepcopy(model)
    actor_opt = torch.optim.Adam(model["actor"].parameters(), lr=1e-3)
    critics = [model["q1"], model["q2"]]
    critic_opt = torch.optim.Adam([p for q in (critics if fixed else critics[:1]) for p in q.parameters()], lr=2e-3)

    def step(b):
        with torch.no_grad():
            a2 = target["actor"](b["next"])
            q = torch.min(target["q1"](b["next"], a2), target["q2"](b["next"], a2))
            y = b["rew"] + c.gamma * (1 - b["done"]) * q
        critic_loss = sum(F.mse_loss(q(b["obs"], b["act"]), y) for q in critics)
        model.zero_grad()
        critic_loss.backward()
        critic_opt.step()

        pi = model["actor"](b["obs"])
        qv = model["q1"](b["obs"], pi)
        lam = 1.0 / qv.abs().mean().detach().clamp(min=1e-3)
        actor_loss = -lam * qv.mean() + c.bc * F.mse_loss(pi, b["act"])
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        soft_update(target, model, c.tau)
        return critic_loss.detach()

    return {"model": model, "optimizer": {"actor": actor_opt, "critic": critic_opt}, "data": data, "step": step}
