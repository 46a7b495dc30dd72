"""Next-hour electricity load from the last day with a GRU."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b4_gru_load",
    "source": "CASES.md 44998910 (SGD with a learning rate that is far too small)",
    "roots": ["lr-too-low"],
    "description": "the learning rate was left at 1e-5 for plain SGD, so the weights hardly move",
    "location": "optimizer lr",
    "shows_in": "one-batch",
}


class LoadForecaster(nn.Module):
    def __init__(self, n_features=3, hidden=48):
        super().__init__()
        self.gru = nn.GRU(n_features, hidden, batch_first=True)
        self.out = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1]).squeeze(-1)


def make_windows(n, steps=24):
    phase = torch.rand(n, 1) * 2 * math.pi
    level = torch.randn(n, 1)
    t = torch.arange(steps + 1).float()
    load = level + 1.5 * torch.sin(2 * math.pi * t / 24 + phase)
    hour = torch.stack([torch.sin(2 * math.pi * t / 24 + phase), torch.cos(2 * math.pi * t / 24 + phase)], -1)
    x = torch.cat([load[:, :-1, None], hour[:, :-1]], -1)
    return x, load[:, -1]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = make_windows(256)
    data = [(x[i:i + 32], y[i:i + 32]) for i in range(0, 256, 32)]
    model = LoadForecaster()
    lr = 5e-2 if fixed else 1e-5
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def loss(model, batch):
        window, target = batch
        return nn.functional.mse_loss(model(window), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
