import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "h9_sac_reach", "source": "continuous control repo", "roots": [], "checks": [],
        "description": "healthy SAC: twin critics, tanh-squashed actor, learned temperature, three optimizers", "location": ""}


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, o))


class Agent(nn.Module):
    def __init__(self, s=4, a=2):
        super().__init__()
        self.actor, self.q1, self.q2 = mlp(s, 2 * a), mlp(s + a, 1), mlp(s + a, 1)
        self.log_alpha = nn.Parameter(torch.tensor(-1.5))

    def act(self, s):
        mu, ls = self.actor(s).chunk(2, -1)
        std = ls.clamp(-4, 1).exp()
        u = mu + std * torch.randn_like(std)
        lp = (-0.5 * ((u - mu) / std) ** 2 - std.log() - 0.9189).sum(-1)
        lp = lp - (2 * (0.6931 - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), lp

    def q(self, s, a):
        x = torch.cat([s, a], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


def env(n, g):
    s = torch.rand(n, 4, generator=g) * 2 - 1
    a = torch.rand(n, 2, generator=g) * 2 - 1
    s2 = torch.cat([(s[:, :2] + 0.5 * a).clamp(-1.5, 1.5), s[:, 2:]], 1)
    r = 1 - 2 * ((s2[:, :2] - s2[:, 2:]) ** 2).sum(1)
    return {"s": s, "a": a, "r": r, "s2": s2, "d": (torch.rand(n, generator=g) < 0.25).float()}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [env(64, g) for _ in range(24)]
    ag = Agent()
    tgt = copy.deepcopy(ag).requires_grad_(False)
    opts = {"critic": torch.optim.Adam([*ag.q1.parameters(), *ag.q2.parameters()], lr=2e-3),
            "actor": torch.optim.Adam(ag.actor.parameters(), lr=1e-3),
            "alpha": torch.optim.Adam([ag.log_alpha], lr=1e-3)}

    def step(b):
        with torch.no_grad():
            a2, lp2 = ag.act(b["s2"])
            y = b["r"] + 0.6 * (1 - b["d"]) * (torch.min(*tgt.q(b["s2"], a2)) - ag.log_alpha.exp() * lp2)
        q1, q2 = ag.q(b["s"], b["a"])
        qloss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        opts["critic"].zero_grad()
        qloss.backward()
        opts["critic"].step()

        a, lp = ag.act(b["s"])
        aloss = (ag.log_alpha.exp().detach() * lp - torch.min(*ag.q(b["s"], a))).mean()
        opts["actor"].zero_grad()
        aloss.backward()
        opts["actor"].step()

        tloss = -(ag.log_alpha * (lp.detach() - 2.0).mean())
        opts["alpha"].zero_grad()
        tloss.backward()
        opts["alpha"].step()
        with torch.no_grad():
            for t, p in zip(tgt.parameters(), ag.parameters()):
                t.mul_(0.99).add_(p, alpha=0.01)
        return qloss.item()

    return {"model": ag, "optimizer": opts, "data": data, "step": step}
