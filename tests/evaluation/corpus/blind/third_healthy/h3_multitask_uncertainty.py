import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_multitask_uncertainty", "source": "healthy; Kendall et al. uncertainty weighting",
        "roots": [], "checks": [], "description": "regression and classification heads weighted by learned log-variances, loss may go below zero", "location": ""}


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(9, 64), nn.SiLU(), nn.Linear(64, 32), nn.SiLU())
        self.heads = nn.ModuleDict({"depth": nn.Linear(32, 2), "label": nn.Linear(32, 3)})

    def forward(self, x):
        h = self.trunk(x)
        return {k: head(h) for k, head in self.heads.items()}


class UncertaintyLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.ParameterDict({"depth": nn.Parameter(torch.zeros(1)), "label": nn.Parameter(torch.zeros(1))})

    def forward(self, out, tgt):
        raw = {"depth": 0.5 * F.mse_loss(out["depth"], tgt["depth"]), "label": F.cross_entropy(out["label"], tgt["label"])}
        return sum((-self.s[k]).exp() * v + 0.5 * self.s[k] for k, v in raw.items()).squeeze()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 77)
    n = 32 * 25
    x = torch.randn(n, 9, generator=g)
    z = torch.sin(x @ torch.randn(9, 3, generator=g) / 2)
    depth = z[:, :2] + 0.1 * torch.randn(n, 2, generator=g)
    label = (z @ torch.randn(3, 3, generator=g)).argmax(1)
    system = nn.ModuleDict({"net": Shared(), "criterion": UncertaintyLoss()})
    opt = torch.optim.Adam([{"params": system["net"].parameters(), "lr": 4e-3},
                            {"params": system["criterion"].parameters(), "lr": 1e-2}])

    def loss(m, b):
        return m["criterion"](m["net"](b["x"]), b)

    data = [{"x": x[i:i + 32], "depth": depth[i:i + 32], "label": label[i:i + 32]} for i in range(0, n, 32)]
    return {"model": system, "optimizer": opt, "data": data, "loss": loss}
