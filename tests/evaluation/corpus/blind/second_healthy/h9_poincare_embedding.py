import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_poincare_embedding", "source": "hyperbolic embeddings code", "roots": [], "checks": [],
        "description": "healthy Poincare embeddings of a taxonomy: Riemannian SGD written by hand, burn-in rate, projection into the ball",
        "location": ""}


class RSGD(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for gr in self.param_groups:
            for p in gr["params"]:
                if p.grad is None:
                    continue
                conf = (1 - p.pow(2).sum(-1, keepdim=True)).pow(2) / 4
                p.add_(conf * p.grad, alpha=-gr["lr"])
                n = p.norm(dim=-1, keepdim=True)
                p.copy_(torch.where(n > 0.999, p / n * 0.999, p))


class Poincare(nn.Module):
    def __init__(self, n, d=4):
        super().__init__()
        self.e = nn.Embedding(n, d)
        nn.init.uniform_(self.e.weight, -0.05, 0.05)

    def dist(self, a, b):
        u, v = self.e(a), self.e(b)
        num = (u - v).pow(2).sum(-1)
        den = (1 - u.pow(2).sum(-1)) * (1 - v.pow(2).sum(-1))
        return torch.acosh(1 + 2 * num / den + 1e-6)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n = 40                                                     # ternary tree: parent(i) = (i - 1) // 3
    pairs, anc = [], {}
    for i in range(1, n):
        j, anc[i] = i, set()
        while j:
            j = (j - 1) // 3
            pairs.append((i, j))
            anc[i].add(j)
    pairs = torch.tensor(pairs)
    rows = []
    for k in torch.randint(0, len(pairs), (1024,), generator=g).tolist():
        c, a = pairs[k].tolist()
        bad = [x for x in range(n) if x != c and x not in anc[c]]
        neg = [bad[int(torch.randint(0, len(bad), (), generator=g))] for _ in range(6)]
        rows.append([c, a, *neg])
    rows = torch.tensor(rows)
    model = Poincare(n)
    opt = RSGD(model.parameters(), lr=8.0)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.25 if s < 5 else 1.0)

    def step(r):
        d = model.dist(r[:, :1], r[:, 1:])
        loss = F.cross_entropy(-d, torch.zeros(len(r), dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": list(rows.split(64)), "step": step}
