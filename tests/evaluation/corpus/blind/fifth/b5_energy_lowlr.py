"""Hourly energy-load forecast with a GRU."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b5_energy_lowlr",
    "source": "CASES.md: DeepFD 51181393 / 34311586, DeepCrime change_learning_rate",
    "roots": ["lr-too-low"],
    "description": "Adam runs at 1e-6: the loss creeps down in a straight line",
    "location": "CONFIG['lr']",
    "shows_in": "one-batch",
}

CONFIG = {"window": 24, "hidden": 32, "batch_size": 32, "n_batches": 8, "lr": 1e-6}


class LoadForecaster(nn.Module):
    def __init__(self, n_features, hidden):
        super().__init__()
        self.gru = nn.GRU(n_features, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        out, _ = self.gru(x)
        return self.head(out[:, -1]).squeeze(-1)


def load_curve(n_hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(n_hours, dtype=torch.float32)
    load = torch.sin(2 * math.pi * t / 24) + 0.5 * torch.sin(2 * math.pi * t / 12 + 1.0)
    load = load + 0.3 * torch.sin(2 * math.pi * t / 168) + 0.05 * torch.randn(n_hours, generator=g)
    hour = torch.stack([torch.sin(2 * math.pi * t / 24), torch.cos(2 * math.pi * t / 24)], 1)
    return (load - load.mean()) / load.std(), hour


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cfg = dict(CONFIG)
    if fixed:
        cfg["lr"] = 5e-3
    n = cfg["batch_size"] * cfg["n_batches"]
    load, hour = load_curve(n + cfg["window"] + 1, seed)
    feats = torch.cat([load.unsqueeze(1), hour], 1)
    order = torch.randperm(n)
    X = torch.stack([feats[i:i + cfg["window"]] for i in order.tolist()])
    y = load[order + cfg["window"]]
    bs = cfg["batch_size"]
    data = [(X[i:i + bs], y[i:i + bs]) for i in range(0, n, bs)]

    model = LoadForecaster(3, cfg["hidden"])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])

    def loss(model, batch):
        window, target = batch
        return nn.functional.mse_loss(model(window), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
