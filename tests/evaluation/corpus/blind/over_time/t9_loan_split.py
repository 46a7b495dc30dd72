import numpy as np
import torch
import torch.nn as nn

META = {"id": "t9_loan_split", "source": "credit scoring tutorial, split by two draws of indices",
        "roots": ["data-leakage"], "checks": ["generalizes"],
        "description": "the validation rows are drawn from all rows, so that most of them are training rows as well",
        "location": "split_rows: the second choice() draws from all rows"}


def loan_table(n, rng):
    income = rng.lognormal(0, 0.5, n)
    debt = rng.gamma(2.0, 0.5, n)
    age = rng.uniform(18, 75, n)
    history = rng.poisson(3, n)
    extra = rng.normal(size=(n, 4))
    z = 1.5 * np.log(income) - 1.3 * debt + 0.03 * (age - 45) + 0.4 * history + extra[:, 0] * extra[:, 1]
    grade = np.digitize(z + rng.normal(0, 0.25, n), [-0.9, 0.1, 1.0])
    x = np.column_stack([income, debt, age, history, extra])
    return ((x - x.mean(0)) / x.std(0)).astype("float32"), grade.astype("int64")


def split_rows(n, n_val, rng, exclusive):
    if exclusive:
        order = rng.permutation(n)
        return order[n_val:], order[:n_val]
    train = rng.choice(n, n - n_val, replace=False)
    val = rng.choice(n, n_val, replace=False)
    return train, val


def to_batches(x, y, rows, size):
    x, y = torch.from_numpy(x[rows]), torch.from_numpy(y[rows])
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(rows), size)]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 3)
    x, y = loan_table(3200, rng)
    train, val = split_rows(len(x), 480, rng, exclusive=fixed)

    model = nn.Sequential(
        nn.Linear(8, 64), nn.GELU(),
        nn.Linear(64, 64), nn.GELU(),
        nn.Linear(64, 4),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    ce = nn.CrossEntropyLoss()

    def compute_loss(model, batch):
        features, grade = batch
        return ce(model(features), grade)

    return {"model": model, "optimizer": optimizer, "loss": compute_loss,
            "data": to_batches(x, y, train, 32), "val": to_batches(x, y, val, 48)}
