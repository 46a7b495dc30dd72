"""Titanic-style survival classifier with one output unit, port of a Keras script."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b5_titanic_softmax_unit",
    "source": "CASES.md: DeepFD 31627380, TheDeepChecker 53971451 / 34886605 (Stack Overflow)",
    "roots": ["wrong-output-activation"],
    "description": "softmax over a single output unit gives 1.0 for every passenger; sigmoid was needed",
    "location": "Sequential[-1] (nn.Softmax)",
    "shows_in": "one-batch",
}


def make_passengers(n, rng):
    pclass = rng.integers(1, 4, n)
    sex = rng.integers(0, 2, n)
    age = rng.normal(30, 12, n).clip(1, 80)
    sibsp = rng.poisson(0.5, n)
    fare = rng.lognormal(3.0, 0.8, n)
    port = rng.integers(0, 3, n)
    score = 2.2 * sex - 1.1 * (pclass - 2) - 0.03 * (age - 30) + 0.4 * np.log(fare / 20) - 0.3 * sibsp - 1.0
    survived = (score > 0).astype(np.float32)
    cols = [pclass, sex, age, sibsp, fare] + [(port == k) for k in range(3)]
    X = np.stack(cols, 1).astype(np.float32)
    X = (X - X.mean(0)) / (X.std(0) + 1e-6)
    return X, survived


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    X, y = make_passengers(32 * 8, rng)
    X, y = torch.from_numpy(X), torch.from_numpy(y).unsqueeze(1)
    data = [(X[i:i + 32], y[i:i + 32]) for i in range(0, len(X), 32)]

    last = nn.Sigmoid() if fixed else nn.Softmax(dim=1)
    model = nn.Sequential(
        nn.Linear(X.shape[1], 256), nn.ReLU(),
        nn.Linear(256, 256), nn.ReLU(),
        nn.Linear(256, 1), last,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCELoss()

    def loss(model, batch):
        xb, yb = batch
        return criterion(model(xb), yb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
