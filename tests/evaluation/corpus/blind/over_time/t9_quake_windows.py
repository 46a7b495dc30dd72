import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

META = {"id": "t9_quake_windows", "source": "early warning repository, WeightedRandomSampler for training only", "roots": [],
        "checks": ["generalizes"], "description": "healthy: classes are balanced in training, natural in validation", "location": ""}


def windows(n, rng):
    quake = rng.random(n) < 0.12
    t = np.arange(64)
    x = rng.normal(0, 0.7, (n, 64))
    for i in np.flatnonzero(quake):
        start = rng.integers(5, 30)
        burst = np.sin(t * rng.uniform(0.9, 1.3)) * np.exp(-(t - start).clip(0) / 15) * (t >= start)
        x[i] += rng.uniform(2.2, 3.5) * burst
    return torch.tensor(x, dtype=torch.float32)[:, None], torch.tensor(quake, dtype=torch.float32)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 16, 9, padding=4), nn.ReLU(), nn.MaxPool1d(4),
                                  nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(1))
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1)).flatten()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 81)
    x, y = windows(6400, rng)
    vx, vy = windows(1024, rng)
    share = y.mean()
    weights = torch.where(y > 0, 0.5 / share, 0.5 / (1 - share)).double()
    order = torch.Generator().manual_seed(seed)
    sampler = WeightedRandomSampler(weights, 2560, replacement=True, generator=order)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()
    return {"model": model, "optimizer": optimizer,
            "data": DataLoader(TensorDataset(x, y), batch_size=64, sampler=sampler),
            "val": DataLoader(TensorDataset(vx, vy), batch_size=128),
            "loss": lambda model, batch: criterion(model(batch[0]), batch[1])}
