"""Regression of the wheat yield of fields from soil and weather summaries."""
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_crop_yield",
    "source": "own; pattern: left merge of a harvest table",
    "roots": ["nan-in-data"],
    "checks": ["data_is_healthy"],
    "description": "A left merge leaves the yield of a handful of fields NaN; the rows stay in the training set.",
    "location": "targets of the training data",
}

FEATURES = ["clay", "ph", "nitrogen", "rain", "degree_days", "slope", "organic"]


def load_fields(rng):
    n = 640
    fields = pd.DataFrame(rng.normal(size=(n, len(FEATURES))), columns=FEATURES)
    fields["field_id"] = np.arange(n)
    harvest = pd.DataFrame({
        "field_id": np.arange(n),
        "yield_t": 6.5 + 0.8 * fields.rain + 0.5 * fields.nitrogen - 0.4 * fields.rain ** 2
        + 0.3 * fields.ph * fields.clay + rng.normal(0, 0.25, n),
    })
    harvest = harvest.drop(index=rng.choice(500, size=6, replace=False))
    return fields.merge(harvest, on="field_id", how="left")


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    table = load_fields(rng)
    train, val = table.iloc[:520], table.iloc[520:]
    if fixed:
        train = train.dropna(subset=["yield_t"])
    mu, sd = train.yield_t.mean(), train.yield_t.std()

    def tensors(part):
        x = torch.tensor(part[FEATURES].to_numpy(), dtype=torch.float32)
        y = torch.tensor(((part.yield_t - mu) / sd).to_numpy(), dtype=torch.float32)
        return TensorDataset(x, y)

    model = nn.Sequential(nn.Linear(7, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.smooth_l1_loss(model(x)[:, 0], y)

    g = torch.Generator().manual_seed(seed + 1)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(tensors(train), batch_size=40, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(tensors(val), batch_size=120),
    }
