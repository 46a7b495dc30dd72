"""Switch-style mixture of experts for a piecewise regression (power curves of several machine types)."""
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "b9_switch_moe", "source": "hand-written top-1 MoE layers (output not multiplied by the gate's probability)",
        "roots": ["disconnected-graph"], "checks": [],
        "description": "the router only chooses by argmax and its probability does not scale the expert's output: no gradient comes back to it",
        "location": "SwitchFFN.forward"}


class Expert(nn.Sequential):
    def __init__(self, d, hidden):
        super().__init__(nn.Linear(d, hidden), nn.GELU(), nn.Linear(hidden, d))


class SwitchFFN(nn.Module):
    def __init__(self, d, n_experts, hidden, fixed):
        super().__init__()
        self.router = nn.Sequential(nn.Linear(d, d), nn.Tanh(), nn.Linear(d, n_experts))
        self.experts = nn.ModuleList([Expert(d, hidden) for _ in range(n_experts)])
        self.fixed = fixed

    def forward(self, x):
        probs = F.softmax(self.router(x), dim=-1)
        gate, index = probs.max(dim=-1)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = (index == k).nonzero(as_tuple=True)[0]
            if rows.numel():
                y = expert(x[rows])
                if self.fixed:
                    y = y * gate[rows].unsqueeze(-1)
                out = out.index_copy(0, rows, y)
        return x + out


class MoERegressor(nn.Module):
    def __init__(self, n_in, d=16, n_experts=4, fixed=False):
        super().__init__()
        self.embed = nn.Linear(n_in, d)
        self.norm = nn.LayerNorm(d)
        self.moe = SwitchFFN(d, n_experts, 8, fixed)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        return self.out(self.moe(self.norm(self.embed(x)))).squeeze(-1)


def machines(n, seed):
    g = torch.Generator().manual_seed(seed + 29)
    kind = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 5, generator=g)
    slope = torch.randn(4, 5, generator=g)
    y = (x * slope[kind]).sum(1) / 1.5 + torch.tensor([0.0, 1.5, -1.5, 0.5])[kind]
    return torch.cat([x, F.one_hot(kind, 4).float()], 1), y


class Loop:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def training_step(self, batch):
        x, y = batch
        loss = F.mse_loss(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.detach()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = machines(1024, seed)
    loop = Loop(MoERegressor(9, fixed=fixed), lr=6e-3)
    return {"model": loop.model, "optimizer": loop.opt, "data": list(zip(x.split(64), y.split(64))), "step": loop.training_step}
