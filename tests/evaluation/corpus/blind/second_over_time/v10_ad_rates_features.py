import numpy as np
import torch
from torch import nn

META = {"id": "v10_ad_rates_features",
        "source": "feature engineering with ratios (clicks / impressions) that are 0/0 for new campaigns; PyTorch forum threads 'loss is nan after a few batches'",
        "roots": ["nan-in-data"],
        "checks": [],
        "description": "Click rates of campaigns without impressions are 0/0 = NaN in about 1 % of the rows; the first batch that holds one turns all weights into NaN.",
        "location": "rates: division without a guard"}


def rates(clicks, shown, guard):
    with np.errstate(all="ignore"):
        if guard:
            return clicks / np.maximum(shown, 1)
        return clicks / shown


def campaigns(n, rng, guard):
    shown = rng.poisson(60, (n, 6)) * (rng.random((n, 6)) > 0.002)
    ctr = rng.beta(2, 8, (n, 6))
    clicks = rng.binomial(shown, ctr)
    price = rng.standard_normal((n, 4))
    r = rates(clicks, shown, guard)
    x = np.concatenate([(r - 0.2) / 0.13, price], 1)
    rev = 1.5 * ((ctr[:, :4] - 0.2) / 0.13 * price).sum(1) / 2 + ctr[:, 4] - 0.5 * price[:, 0]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(rev / 1.7, dtype=torch.float32)


class Revenue(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.a = nn.Linear(10, hidden)
        self.b = nn.Linear(hidden, hidden)
        self.c = nn.Linear(hidden, 1)
        self.act = nn.SiLU()

    def forward(self, x):
        h = self.act(self.a(x))
        return self.c(h + self.act(self.b(h))).view(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 4)
    x, y = campaigns(2048, rng, fixed)
    xv, yv = campaigns(320, rng, True)
    model = Revenue()
    mse = nn.MSELoss()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3),
            "data": list(zip(x.split(32), y.split(32))), "val": list(zip(xv.split(80), yv.split(80))),
            "loss": lambda m, b: mse(m(b[0]), b[1])}
