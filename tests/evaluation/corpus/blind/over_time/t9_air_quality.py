import numpy as np
import torch
import torch.nn as nn

META = {"id": "t9_air_quality", "source": "city air quality project, reference stations and cheap field sensors", "roots": [],
        "checks": ["generalizes"], "description": "healthy: validation targets come from a noisier instrument", "location": ""}


def air(n, noise, rng):
    wind = rng.gamma(2.0, 1.5, n)
    traffic = rng.uniform(0, 1, n)
    temp = rng.normal(12, 8, n)
    humid = rng.uniform(0.3, 1, n)
    hour = rng.uniform(0, 24, n)
    no2 = 35 * traffic * np.exp(-0.2 * wind) + 8 * (temp < 4) + 6 * np.cos((hour - 8) / 24 * 2 * np.pi) + 5 * humid
    feats = np.stack([(wind - 3) / 2.1, traffic * 3.46 - 1.73, (temp - 12) / 8, humid * 5 - 3.2,
                      np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi)], 1)
    return feats.astype(np.float32), ((no2 + rng.normal(0, noise, n) - 16) / 9).astype(np.float32)


def loader(x, y, bs):
    return [{"x": torch.from_numpy(x[i:i + bs]), "no2": torch.from_numpy(y[i:i + bs])} for i in range(0, len(y), bs)]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train = loader(*air(2560, 0.8, rng), 40)
    field = loader(*air(240, 5.0, rng), 40)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    huber = nn.HuberLoss()
    return {"model": model, "optimizer": optimizer, "data": train, "val": field,
            "loss": lambda net, b: huber(net(b["x"]), b["no2"])}
