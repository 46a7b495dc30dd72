import numpy as np
import torch
from torch import nn

META = {"id": "t9_late_parcels", "source": "logistics company code, late parcels", "roots": [],
        "checks": ["generalizes"], "description": "healthy: one class is rarer, as in reality, and is learnt all the same", "location": ""}


def parcels(n, seed):
    rng = np.random.default_rng(seed)
    distance = rng.gamma(3, 100, n)
    load = rng.beta(2, 3, n)
    snow = rng.random(n) < 0.15
    weekday = rng.integers(0, 7, n)
    weight = rng.lognormal(0.5, 0.6, n)
    risk = distance / 150 + 5 * load + 2.5 * snow + 1.5 * (weekday >= 5) + rng.normal(0, 0.25, n)
    late = risk > np.quantile(risk, 0.82)
    onehot = np.eye(7)[weekday]
    x = np.column_stack([(distance - 300) / 173, (load - 0.4) / 0.2, snow * 2.0, np.log(weight), onehot])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(late, dtype=torch.float32)


class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(d, 64), nn.Linear(64, 32), nn.Linear(32, 1)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.fc3(self.act(self.fc2(self.act(self.fc1(x))))).view(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = parcels(12000, seed + 100)
    model = Net(x.shape[1])
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    bce = nn.BCEWithLogitsLoss()
    batches = [(x[i:i + 50], y[i:i + 50]) for i in range(0, 12000, 50)]
    return {"model": model, "optimizer": opt, "data": batches[:220], "val": batches[220:],
            "loss": lambda m, b: bce(m(b[0]), b[1])}
