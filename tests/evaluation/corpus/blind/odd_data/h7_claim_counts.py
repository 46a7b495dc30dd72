"""Number of insurance claims per policy, Poisson regression with exposure."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_claim_counts", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "About 90 % of the targets are zero and some inputs are counts with many zeros: that is how claims are.",
    "location": "",
}


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 2400
    x = rng.normal(size=(n, 6))
    before = rng.poisson(0.15, (n, 3)).astype(float)
    exposure = rng.uniform(0.3, 1.0, n)
    rate = np.exp(-2.3 + 0.6 * x[:, 0] - 0.5 * x[:, 2] + 0.8 * before[:, 0] + 0.5 * before[:, 1])
    y = rng.poisson(rate * exposure)
    x = torch.tensor(np.concatenate([x, before], 1), dtype=torch.float32)
    off = torch.tensor(np.log(exposure), dtype=torch.float32)
    y = torch.tensor(y, dtype=torch.float32)

    def batches(lo, hi, size):
        return [{"x": x[i:i + size], "log_exposure": off[i:i + size], "claims": y[i:i + size]} for i in range(lo, hi, size)]

    model = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        log_rate = model(batch["x"]).squeeze(1) + batch["log_exposure"]
        return nn.functional.poisson_nll_loss(log_rate, batch["claims"], log_input=True)

    return {"model": model, "optimizer": optimizer, "data": batches(0, 2000, 80), "loss": loss, "val": batches(2000, n, 200)}
