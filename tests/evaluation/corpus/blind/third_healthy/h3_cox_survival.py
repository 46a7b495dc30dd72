import torch
from torch import nn

META = {"id": "h3_cox_survival", "source": "healthy; DeepSurv partial likelihood",
        "roots": [], "checks": [], "description": "Cox partial likelihood within the batch (risk sets need the batch), censored data", "location": ""}


class DeepSurv(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.risk = nn.Sequential(nn.Linear(d, 32), nn.SELU(), nn.Linear(32, 1, bias=False))

    def forward(self, x):
        return self.risk(x).squeeze(1)


def neg_partial_log_likelihood(log_risk, time, event):
    order = time.argsort(descending=True)
    lr, ev = log_risk[order], event[order]
    return -((lr - torch.logcumsumexp(lr, 0)) * ev).sum() / ev.sum().clamp(min=1)


def cohort(n, g):
    x = torch.randn(n, 8, generator=g)
    h = 1.2 * x[:, 0] - x[:, 1] + 0.8 * x[:, 2] * x[:, 3]
    t = -torch.log(torch.rand(n, generator=g)) * torch.exp(-1.5 * h)
    c = -torch.log(torch.rand(n, generator=g)) * 4
    return x, torch.minimum(t, c), (t <= c).float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, t, e = cohort(64 * 20, torch.Generator().manual_seed(seed + 11))
    m = DeepSurv(8)
    opt = torch.optim.AdamW(m.parameters(), lr=4e-3, weight_decay=1e-3)
    return {"model": m, "optimizer": opt, "data": list(zip(x.split(64), t.split(64), e.split(64))),
            "loss": lambda m, b: neg_partial_log_likelihood(m(b[0]), b[1], b[2])}
