import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

META = {"id": "h3_maml_sines", "source": "healthy; MAML sine regression with second-order gradients",
        "roots": [], "checks": [], "description": "one inner step with learned per-tensor rates, outer Adam; a batch is a set of tasks", "location": ""}


class MetaLearner(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
        self.inner_lr = nn.ParameterDict({n.replace(".", "_"): nn.Parameter(torch.tensor(0.05)) for n, _ in self.net.named_parameters()})

    def adapt(self, xs, ys):
        params = dict(self.net.named_parameters())
        loss = F.mse_loss(functional_call(self.net, params, (xs,)), ys)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        return {n: p - self.inner_lr[n.replace(".", "_")] * g for (n, p), g in zip(params.items(), grads)}

    def forward(self, task):
        fast = self.adapt(task[0], task[1])
        return F.mse_loss(functional_call(self.net, fast, (task[2],)), task[3])


def sample_tasks(g, n, shots=10):
    out = []
    for _ in range(n):
        amp = torch.rand(1, generator=g) * 1.5 + 0.5
        ph = torch.rand(1, generator=g) * 3.14
        x = torch.rand(2 * shots, 1, generator=g) * 4 - 2
        y = amp * torch.sin(1.5 * x + ph)
        out.append((x[:shots], y[:shots], x[shots:], y[shots:]))
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 13)
    meta = MetaLearner()
    opt = torch.optim.Adam([{"params": meta.net.parameters(), "lr": 5e-3}, {"params": meta.inner_lr.parameters(), "lr": 2e-3}])
    data = [sample_tasks(g, 8) for _ in range(24)]
    return {"model": meta, "optimizer": opt, "data": data, "loss": lambda m, tasks: torch.stack([m(t) for t in tasks]).mean()}
