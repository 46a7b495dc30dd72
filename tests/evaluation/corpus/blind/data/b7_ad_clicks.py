"""Click-through prediction from visit counts and a few standardised user columns."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "b7_ad_clicks",
    "source": "own; pattern: np.log of count columns",
    "roots": ["nan-in-data"],
    "checks": ["data_is_healthy"],
    "description": "The visit counts contain zeros and are put through log: -inf in four input columns.",
    "location": "inputs, columns 0-3",
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 1200
    activity = rng.gamma(2.0, 2.0, size=(n, 1))
    counts = rng.poisson(activity * np.array([[1.0, 2.0, 4.0, 8.0]]))
    user = rng.normal(size=(n, 6))
    logit = 0.8 * (np.log1p(counts).sum(1) - 7.0) + user[:, 0] - 0.7 * user[:, 3]
    clicked = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.float32)

    with np.errstate(divide="ignore"):
        logs = np.log1p(counts) if fixed else np.log(counts)
    x = torch.tensor(np.concatenate([logs - 1.5, user], 1), dtype=torch.float32)
    y = torch.from_numpy(clicked)

    order = torch.from_numpy(rng.permutation(n))
    tr, va = order[:1000], order[1000:]
    data = [(x[i], y[i]) for i in tr.split(50)]
    val = [(x[i], y[i]) for i in va.split(100)]

    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
