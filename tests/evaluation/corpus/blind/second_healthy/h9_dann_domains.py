import math
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_dann_domains", "source": "domain adaptation benchmark", "roots": [], "checks": [],
        "description": "healthy DANN: gradient reversal with rising weight, unlabeled target batch, momentum SGD with annealed rate; reports label loss",
        "location": ""}


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feat = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.label = nn.Linear(24, 3)
        self.domain = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x, lam):
        f = self.feat(x)
        return self.label(f), self.domain(Reverse.apply(f, lam)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    mu = torch.randn(3, 16, generator=g)
    shift = torch.zeros(16)
    shift[:3] = 1.0
    data = []
    for _ in range(14):
        ys, yt = torch.randint(0, 3, (2, 32), generator=g)
        data.append({"source": (mu[ys] + 0.8 * torch.randn(32, 16, generator=g), ys),
                     "target": mu[yt] + 0.8 * torch.randn(32, 16, generator=g) + shift})
    net = DANN()
    opt = torch.optim.SGD([{"params": net.feat.parameters()}, {"params": net.label.parameters()},
                           {"params": net.domain.parameters(), "weight_decay": 1e-3}], lr=0.05, momentum=0.9)
    total = 600
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: (1 + 10 * min(1, s / total)) ** -0.75)
    n = [0]

    def step(b):
        lam = 0.3 * (2 / (1 + math.exp(-10 * min(1, n[0] / total))) - 1)
        n[0] += 1
        xs, ys = b["source"]
        logits, dom = net(torch.cat([xs, b["target"]]), lam)
        cls = F.cross_entropy(logits[:len(xs)], ys)
        d = F.binary_cross_entropy_with_logits(dom, torch.cat([torch.ones(len(xs)), torch.zeros(len(b["target"]))]))
        opt.zero_grad()
        (cls + d).backward()
        opt.step()
        sched.step()
        return cls.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
