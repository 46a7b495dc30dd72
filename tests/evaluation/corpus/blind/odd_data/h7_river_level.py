"""River level six hours ahead; batches in the order of time, the last part of the record for validation."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_river_level", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "The data are sorted by time and not shuffled, neighbouring windows overlap, the validation part lies later with a gap.",
    "location": "",
}

WINDOW, AHEAD = 36, 6


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 1400
    rain = rng.gamma(0.4, 1.2, n) * (rng.random(n) < 0.3)
    level = np.zeros(n)
    for i in range(1, n):
        level[i] = 0.94 * level[i - 1] + 0.12 * rain[max(0, i - 5)] + rng.normal(0, 0.02)
    level = (level - level[:1000].mean()) / level[:1000].std()
    both = np.stack([level, (rain - rain[:1000].mean()) / rain[:1000].std()], 1).astype(np.float32)

    def batches(lo, hi, size):
        ends = range(lo + WINDOW, hi - AHEAD)
        x = torch.from_numpy(np.stack([both[e - WINDOW:e] for e in ends]))
        y = torch.from_numpy(np.array([both[e + AHEAD - 1, 0] for e in ends]))
        return list(zip(x.split(size), y.split(size)))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(2, 24, batch_first=True)
            self.fc = nn.Linear(24, 1)

        def forward(self, x):
            return self.fc(self.rnn(x)[0][:, -1]).squeeze(1)

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": batches(0, 1050, 32), "loss": loss, "val": batches(1100, n, 64)}
