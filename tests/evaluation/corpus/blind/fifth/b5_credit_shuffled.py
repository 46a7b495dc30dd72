"""Credit-risk classification, data shuffled with numpy before batching."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b5_credit_shuffled",
    "source": "CASES.md: TheDeepChecker 46136553 / 41864333 (examples and labels in different order)",
    "roots": ["labels-not-aligned"],
    "description": "features and labels are shuffled with two different permutations",
    "location": "shuffle_and_batch (second rng.permutation)",
    "shows_in": "full-data",
}

BATCH = 48


def applicants(n, rng):
    income = rng.lognormal(10, 0.5, n)
    debt = rng.uniform(0, 0.8, n)
    years = rng.exponential(5, n)
    late = rng.poisson(1.0, n)
    age = rng.normal(42, 12, n)
    loans = rng.poisson(2, n)
    z = np.log(income / 22000) * 2 - 4 * (debt - 0.4) + 0.15 * (years - 5) - 1.0 * (late - 1)
    grade = np.digitize(z, [-2.0, -0.7, 0.7, 2.0])
    X = np.column_stack([np.log(income), debt, years, late, age, loans])
    return ((X - X.mean(0)) / X.std(0)).astype("float32"), grade


def shuffle_and_batch(X, y, rng, paired):
    idx = rng.permutation(len(X))
    X = X[idx]
    y = y[idx] if paired else y[rng.permutation(len(y))]
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    return [(X[i:i + BATCH], y[i:i + BATCH]) for i in range(0, len(X), BATCH)]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    X, y = applicants(BATCH * 12, rng)
    data = shuffle_and_batch(X, y, rng, paired=fixed)

    model = nn.Sequential(
        nn.Linear(6, 128), nn.ReLU(),
        nn.Linear(128, 128), nn.ReLU(),
        nn.Linear(128, 5),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    ce = nn.CrossEntropyLoss()

    def loss(model, batch):
        features, grade = batch
        return ce(model(features), grade)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
