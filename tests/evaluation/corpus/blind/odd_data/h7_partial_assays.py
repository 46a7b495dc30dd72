"""Multi-task regression of five laboratory assays; each compound was measured in some of them only."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_partial_assays", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Missing assays are NaN in the target, the batch has an explicit mask and the loss uses measured values only.",
    "location": "",
}


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(30, 5)) / np.sqrt(30)

    def batch(n):
        x = rng.normal(size=(n, 30))
        y = np.tanh(x @ w) * 1.5 + 0.3 * x[:, :5] + rng.normal(0, 0.15, (n, 5))
        measured = rng.random((n, 5)) < 0.55
        y[~measured] = np.nan
        return {
            "descriptors": torch.tensor(x, dtype=torch.float32),
            "assays": torch.tensor(y, dtype=torch.float32),
            "mask": torch.from_numpy(measured),
        }

    data, val = [batch(40) for _ in range(24)], [batch(60) for _ in range(3)]
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        pred, mask = model(batch["descriptors"]), batch["mask"]
        return nn.functional.mse_loss(pred[mask], batch["assays"][mask])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
