import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_lookahead_wrap",
        "source": "own Lookahead wrappers: the interpolated slow weights are a new tensor that is not stored",
        "roots": ["updates-lost"], "checks": [],
        "description": "Every k steps the fast weights are overwritten with slow weights that never move from their initial values, so all progress is lost again and again.",
        "location": "Lookahead.sync"}


class Lookahead:
    def __init__(self, base, k=5, alpha=0.5, fixed=False):
        self.base, self.k, self.alpha, self.fixed, self.t = base, k, alpha, fixed, 0
        self.slow = [[p.detach().clone() for p in gr["params"]] for gr in base.param_groups]

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def sync(self):
        for gr, slows in zip(self.base.param_groups, self.slow):
            for p, s in zip(gr["params"], slows):
                if self.fixed:
                    s.add_(p - s, alpha=self.alpha)
                else:
                    s.add(p - s, alpha=self.alpha)
                p.copy_(s)

    def step(self):
        self.base.step()
        self.t += 1
        if self.t % self.k == 0:
            self.sync()


class LoadMLP(nn.Module):
    def __init__(self, lags, cal):
        super().__init__()
        self.a = nn.Linear(lags, 32)
        self.b = nn.Linear(cal, 16)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, lags, cal):
        return self.out(torch.cat([self.a(lags), self.b(cal)], 1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 23)
    A, C = torch.randn(12, 4, generator=g) / 3.5, torch.randn(5, 4, generator=g) / 3
    batches = []
    for _ in range(20):
        lags, cal = torch.randn(32, 12, generator=g), torch.randn(32, 5, generator=g)
        y = lags @ A + torch.tanh(2 * cal @ C) + 0.05 * torch.randn(32, 4, generator=g)
        batches.append((lags, cal, y))
    net = LoadMLP(12, 5)
    inner = torch.optim.Adam(net.parameters(), lr=4e-3)
    opt = Lookahead(inner, fixed=fixed)

    def step(batch):
        lags, cal, y = batch
        loss = F.mse_loss(net(lags, cal), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": inner, "data": batches, "step": step}
