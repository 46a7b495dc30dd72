import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {"id": "v10_soil_deficiency_mlp",
        "source": "spectroscopy / soil notebooks on Kaggle: few lab measurements, hundreds of hidden units",
        "roots": ["overfitting"],
        "checks": [],
        "description": "80 noisy lab results with 40 bands are learned by heart by a 256-256 MLP: the training loss goes to 0 while the loss on held-out sites rises far above its best value.",
        "location": "build: number of rows handed to the loader (one campaign only)"}

BANDS = 40


class SoilTable:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.w = np.zeros(BANDS)
        self.w[[2, 9, 17, 30]] = [1.0, -0.8, 0.6, 0.7]

    def rows(self, n):
        x = self.rng.randn(n, BANDS)
        carbon = x @ self.w + 0.4 * x[:, 2] * x[:, 9] + 0.5 * self.rng.randn(n)
        return torch.tensor(x, dtype=torch.float32), torch.tensor(carbon < 0, dtype=torch.float32)[:, None]


class Deficiency(nn.Module):
    def __init__(self, hidden=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(BANDS, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, 1)

    def forward(self, bands):
        return self.out(self.body(bands))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    table = SoilTable(seed + 5)
    held_out = table.rows(320)
    campaigns = 60 if fixed else 1
    train = table.rows(80 * campaigns)
    loader = DataLoader(TensorDataset(*train), batch_size=10, shuffle=True,
                        generator=torch.Generator().manual_seed(seed))
    model = Deficiency()
    bce = nn.BCEWithLogitsLoss()
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4),
            "data": loader, "val": [(a, b) for a, b in zip(held_out[0].split(64), held_out[1].split(64))],
            "loss": lambda m, batch: bce(m(batch[0]), batch[1])}
