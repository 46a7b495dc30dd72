"""Length-of-stay regression from clinical records; some lab values were never measured."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b5_clinic_missing_values",
    "source": "CASES.md: TheDeepChecker 51835124 (corrupted data with NAs), forum nans-in-input-data-breaking-gradients",
    "roots": ["nan-in-data"],
    "description": "missing lactate values stay NaN in the feature table (third batch on) and reach the network",
    "location": "load_records: column 3 (lactate), first seen in data[2]",
    "shows_in": "nan",
}

COLUMNS = ["age", "heart_rate", "sodium", "lactate", "creatinine", "wbc"]


def load_records(n, rng, impute):
    raw = rng.normal(size=(n, len(COLUMNS)))
    stay = 1.5 * raw[:, 3] * (raw[:, 3] > 0) + 0.8 * raw[:, 4] + 0.5 * raw[:, 0] * raw[:, 1] - 0.4 * raw[:, 5]
    table = raw * [15, 12, 4, 1.2, 0.5, 3] + [62, 85, 139, 2.0, 1.1, 9]
    missing = rng.choice(np.arange(70, n), size=9, replace=False)
    table[missing, 3] = np.nan
    mean, std = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    table = (table - mean) / std
    if impute:
        table = np.nan_to_num(table, nan=0.0)
    return table.astype("float32"), (stay - stay.mean()).astype("float32")


class StayNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.inp = nn.Linear(n_in, 96)
        self.mid = nn.Linear(96, 96)
        self.out = nn.Linear(96, 1)

    def forward(self, x):
        x = nn.functional.elu(self.inp(x))
        x = nn.functional.elu(self.mid(x))
        return self.out(x)[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    X, y = load_records(32 * 8, rng, impute=fixed)
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    data = [(X[i:i + 32], y[i:i + 32]) for i in range(0, len(X), 32)]
    model = StayNet(len(COLUMNS))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.MSELoss()

    def loss(model, batch):
        features, days = batch
        return criterion(model(features), days)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
