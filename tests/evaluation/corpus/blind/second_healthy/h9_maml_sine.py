import torch
from torch import nn
from torch.func import functional_call

META = {"id": "h9_maml_sine", "source": "meta-learning reproduction", "roots": [], "checks": [],
        "description": "healthy second-order MAML on line/sine tasks with learned per-parameter inner rates", "location": ""}


class MetaNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
        self.inner = nn.ParameterDict({n.replace(".", "_"): nn.Parameter(torch.tensor(0.05)) for n, _ in self.f.named_parameters()})


def tasks(n, g):
    out = []
    for _ in range(n):
        amp, ph = torch.rand(2, generator=g)
        x = torch.rand(20, 1, generator=g) * 4 - 2
        y = (0.5 + amp) * torch.sin(x + 3.1416 * ph / 2)
        out.append({"support": (x[:8], y[:8]), "query": (x[8:], y[8:])})
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [tasks(4, g) for _ in range(20)]
    model = MetaNet()
    opt = torch.optim.Adam([{"params": model.f.parameters(), "lr": 3e-3}, {"params": model.inner.parameters(), "lr": 1e-3}])

    def adapt(sx, sy, steps=2):
        fast = dict(model.f.named_parameters())
        for _ in range(steps):
            l = (functional_call(model.f, fast, sx) - sy).pow(2).mean()
            grads = torch.autograd.grad(l, list(fast.values()), create_graph=True)
            fast = {k: v - model.inner[k.replace(".", "_")] * gr for (k, v), gr in zip(fast.items(), grads)}
        return fast

    def step(task_batch):
        opt.zero_grad()
        total = 0.0
        for t in task_batch:                      # gradient accumulates over tasks
            qx, qy = t["query"]
            loss = (functional_call(model.f, adapt(*t["support"]), qx) - qy).pow(2).mean() / len(task_batch)
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        opt.step()
        return total

    return {"model": model, "optimizer": opt, "data": data, "step": step}
