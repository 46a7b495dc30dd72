import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_lookahead_radam", "source": "healthy; Lookahead wrapper as in optimizer collections",
        "roots": [], "checks": [], "description": "Lookahead with k=5 around RAdam for a tabular regressor", "location": ""}


class Lookahead(torch.optim.Optimizer):
    def __init__(self, inner, k=5, alpha=0.5):
        super().__init__(inner.param_groups, dict(inner.defaults))
        self.inner, self.k, self.alpha, self.n = inner, k, alpha, 0
        self.param_groups, self.state = inner.param_groups, inner.state
        self.slow = [[p.detach().clone() for p in g["params"]] for g in inner.param_groups]

    def zero_grad(self, set_to_none=True):
        self.inner.zero_grad(set_to_none)

    @torch.no_grad()
    def step(self, closure=None):
        out = self.inner.step(closure)
        self.n += 1
        if self.n % self.k == 0:
            for g, slow in zip(self.param_groups, self.slow):
                for p, q in zip(g["params"], slow):
                    q.add_(p - q, alpha=self.alpha)
                    p.copy_(q)
        return out


class TabNet(nn.Module):
    def __init__(self, cards, num):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(c, 6) for c in cards)
        self.mlp = nn.Sequential(nn.Linear(6 * len(cards) + num, 64), nn.Mish(), nn.Linear(64, 1))

    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat(e + [num], 1)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 2)
    n, cards = 40 * 24, [7, 12, 4]
    cat = torch.stack([torch.randint(0, c, (n,), generator=g) for c in cards], 1)
    num = torch.randn(n, 5, generator=g)
    eff = [torch.randn(c, generator=g) for c in cards]
    y = sum(e[cat[:, i]] for i, e in enumerate(eff)) + num[:, 0] * num[:, 1] + num[:, 2]
    y = (y - y.mean()) / y.std()
    m = TabNet(cards, 5)
    opt = Lookahead(torch.optim.RAdam(m.parameters(), lr=1e-2))

    def step(batch):
        c, v, t = batch
        opt.zero_grad()
        loss = F.mse_loss(m(c, v), t)
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": m, "optimizer": opt, "data": list(zip(cat.split(40), num.split(40), y.split(40))), "step": step}
