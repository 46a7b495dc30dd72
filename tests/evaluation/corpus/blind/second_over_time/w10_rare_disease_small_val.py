import numpy as np
import torch
from torch import nn

META = {"id": "w10_rare_disease_small_val",
        "source": "clinical tabular studies with two dozen held-out patients",
        "roots": [],
        "checks": [],
        "description": "Healthy: the validation set has only 24 patients, so its loss is coarse, but it comes from the same population and is prepared in the same way.",
        "location": ""}


class Cohort:
    def __init__(self, seed):
        self.rs = np.random.RandomState(seed)

    def patients(self, n):
        x = self.rs.randn(n, 10)
        x[:, 7] = (x[:, 7] > 0) - 0.5
        risk = 1.5 * x[:, 0] + x[:, 1] - 1.2 * x[:, 2] * x[:, 7] * 2 + 0.3 * self.rs.logistic(size=n)
        return torch.tensor(x, dtype=torch.float32), torch.tensor(risk > 0, dtype=torch.float32)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 32), nn.ELU(), nn.Linear(32, 32), nn.ELU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.f(x).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    c = Cohort(seed + 400)
    x, y = c.patients(1200)
    xv, yv = c.patients(24)
    net = Scorer()
    bce = nn.BCEWithLogitsLoss()
    return {"model": net, "optimizer": torch.optim.Adam(net.parameters(), lr=2e-3),
            "data": list(zip(x.split(24), y.split(24))), "val": [(xv[:12], yv[:12]), (xv[12:], yv[12:])],
            "loss": lambda m, b: bce(m(b[0]), b[1])}
