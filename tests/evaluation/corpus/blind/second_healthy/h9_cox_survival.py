import torch
from torch import nn

META = {"id": "h9_cox_survival", "source": "biostatistics package", "roots": [], "checks": [],
        "description": "healthy DeepSurv: Breslow partial likelihood within the batch, censoring, weight norm, AlphaDropout",
        "location": ""}


def cohort(n, g):
    age = 40 + 35 * torch.rand(n, generator=g)
    stage = torch.randint(1, 5, (n,), generator=g).float()
    marker = torch.exp(torch.randn(n, generator=g) + 4)
    arm = (torch.rand(n, generator=g) < 0.5).float()
    risk = 0.08 * (age - 57) + 1.6 * (stage - 2.5) + 1.2 * (marker.log() - 4) - 1.5 * arm
    t = -torch.log(torch.rand(n, generator=g)) * torch.exp(-risk) * 12
    c = torch.rand(n, generator=g) * 40
    return {"x": torch.stack([age, stage, marker, arm], 1), "time": torch.minimum(t, c), "event": (t <= c)}


class DeepSurv(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean), self.register_buffer("std", std)
        wn = nn.utils.parametrizations.weight_norm
        self.net = nn.Sequential(wn(nn.Linear(4, 32)), nn.SELU(), nn.AlphaDropout(0.05), wn(nn.Linear(32, 32)), nn.SELU(),
                                 nn.Linear(32, 1, bias=False))

    def forward(self, x):
        x = torch.cat([x[:, :2], x[:, 2:3].log(), x[:, 3:]], 1)
        return self.net((x - self.mean) / self.std).squeeze(-1)


def partial_likelihood(h, time, event):
    order = time.argsort(descending=True)
    h, e = h[order], event[order].float()
    return -((h - h.logcumsumexp(0)) * e).sum() / e.sum().clamp_min(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [cohort(64, g) for _ in range(10)]
    X = torch.cat([b["x"] for b in data])
    X = torch.cat([X[:, :2], X[:, 2:3].log(), X[:, 3:]], 1)
    model = DeepSurv(X.mean(0), X.std(0))
    opt = torch.optim.SGD(model.parameters(), lr=0.04, momentum=0.9, weight_decay=1e-4)

    def step(b):
        model.train()
        opt.zero_grad()
        loss = partial_likelihood(model(b["x"]), b["time"], b["event"])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
