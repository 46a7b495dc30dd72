import copy
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_cql_offline", "source": "offline RL repository", "roots": [], "checks": [],
        "description": "healthy discrete CQL with ensemble of critics (vmapped linear layers), importance of logged actions, periodic hard target",
        "location": ""}


class EnsembleLinear(nn.Module):
    def __init__(self, n, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.empty(n, i, o).uniform_(-1, 1) / i ** 0.5)
        self.b = nn.Parameter(torch.zeros(n, 1, o))

    def forward(self, x):
        return torch.baddbmm(self.b, x, self.w)


class Critics(nn.Module):
    def __init__(self, n=3, s=5, a=4):
        super().__init__()
        self.n = n
        self.net = nn.Sequential(EnsembleLinear(n, s, 48), nn.ELU(), EnsembleLinear(n, 48, 48), nn.ELU(), EnsembleLinear(n, 48, a))

    def forward(self, s):
        return self.net(s.expand(self.n, -1, -1))


def log_data(n, g):
    """logged decisions of a mediocre dosing policy"""
    s = torch.randn(n, 5, generator=g)
    best = (s[:, 0] > 0).long() * 2 + (s[:, 1] > 0).long()
    a = torch.where(torch.rand(n, generator=g) < 0.5, best, torch.randint(0, 4, (n,), generator=g))
    r = 1.0 * (a == best).float() - 0.5 + 0.05 * torch.randn(n, generator=g)
    s2 = 0.9 * s + 0.3 * torch.randn(n, 5, generator=g)
    return {"obs": s, "act": a, "rew": r, "next_obs": s2, "terminal": (torch.rand(n, generator=g) < 0.2).float()}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    buf = log_data(1280, g)
    data = [{k: v[i] for k, v in buf.items()} for i in torch.randperm(1280, generator=g).split(64)]
    q = Critics()
    frozen = copy.deepcopy(q).requires_grad_(False)
    opt = torch.optim.Adam(q.parameters(), lr=4e-3)
    n = [0]

    def step(b):
        with torch.no_grad():
            nxt = frozen(b["next_obs"]).amin(0).amax(1)
            y = b["rew"] + 0.5 * (1 - b["terminal"]) * nxt
        all_q = q(b["obs"])
        taken = all_q.gather(2, b["act"].expand(q.n, -1)[..., None]).squeeze(2)
        td = F.mse_loss(taken, y.expand_as(taken))
        conservative = (torch.logsumexp(all_q, 2) - taken).mean()
        loss = td + 0.2 * conservative
        opt.zero_grad()
        loss.backward()
        opt.step()
        n[0] += 1
        if n[0] % 20 == 0:
            frozen.load_state_dict(q.state_dict())
        return loss.item()

    return {"model": q, "optimizer": opt, "data": data, "step": step}
