"""Satisfaction of rail passengers from six categorical survey answers, embedded and summed."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_passenger_survey", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Six categorical columns with 2-4 levels: many rows are equal by nature, also between training and validation data, and equal rows carry different labels.",
    "location": "",
}

LEVELS = [2, 3, 4, 2, 3, 2]


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 1500
    probs = [rng.dirichlet(np.ones(k) * 4) for k in LEVELS]
    x = np.column_stack([rng.choice(k, n, p=p) for k, p in zip(LEVELS, probs)])
    z = 1.2 * (x[:, 0] - 0.5) + 0.8 * (x[:, 1] - 1) - 0.7 * (x[:, 2] - 1.5) + 0.6 * x[:, 3] * x[:, 5]
    y = (rng.random(n) < 1 / (1 + np.exp(-1.5 * z))).astype(np.float32)
    x, y = torch.from_numpy(x), torch.from_numpy(y)

    class Survey(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.ModuleList(nn.Embedding(k, 8) for k in LEVELS)
            self.mlp = nn.Sequential(nn.Linear(8 * len(LEVELS), 32), nn.ReLU(), nn.Linear(32, 1))

        def forward(self, x):
            return self.mlp(torch.cat([e(x[:, i]) for i, e in enumerate(self.emb)], 1)).squeeze(1)

    model = Survey()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=40, shuffle=True, generator=g),
        "val": DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100),
    }
