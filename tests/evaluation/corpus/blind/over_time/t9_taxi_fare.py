import numpy as np
import torch
from torch import nn

META = {"id": "t9_taxi_fare", "source": "Kaggle taxi notebook, all numeric columns used as features",
        "roots": ["target-leakage"], "checks": ["data_is_healthy"],
        "description": "one of the features is the paid total, which is the fare that has to be predicted plus a constant",
        "location": "build: the columns that are dropped before training"}

COLUMNS = ["distance", "minutes", "hour_sin", "hour_cos", "passengers", "airport", "total_paid"]


def load_trips(n, seed):
    rng = np.random.default_rng(seed + 14)
    distance = rng.gamma(2.0, 2.5, n)
    speed = rng.uniform(12, 40, n)
    minutes = distance / speed * 60
    hour = rng.uniform(0, 24, n)
    passengers = rng.integers(1, 5, n)
    airport = (rng.random(n) < 0.1).astype(float)
    night = (np.cos(hour / 24 * 2 * np.pi) > 0.6).astype(float)
    fare = 3.0 + 1.6 * distance + 0.35 * minutes + 2.5 * night + 12 * airport + rng.normal(0, 1.2, n)
    total_paid = fare + 0.8
    table = dict(zip(COLUMNS, [distance, minutes, np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi),
                               passengers, airport, total_paid]))
    table["fare"] = fare
    return table


def standardise(column):
    return (column - column.mean()) / column.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    trips = load_trips(2400, seed)
    drop = {"fare", "total_paid"} if fixed else {"fare"}
    feats = [c for c in trips if c not in drop]
    X = torch.tensor(np.column_stack([standardise(trips[c]) for c in feats]), dtype=torch.float32)
    y = torch.tensor(standardise(trips["fare"]), dtype=torch.float32).unsqueeze(1)

    model = nn.Sequential(nn.Linear(len(feats), 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    train = [(X[i:i + 40], y[i:i + 40]) for i in range(0, 2000, 40)]
    valid = [(X[i:i + 40], y[i:i + 40]) for i in range(2000, 2400, 40)]
    return {"model": model, "optimizer": optimizer, "data": train, "val": valid,
            "loss": lambda model, batch: criterion(model(batch[0]), batch[1])}
