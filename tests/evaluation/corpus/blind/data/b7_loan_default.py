"""Loan default prediction from application data of a lender's export."""
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_loan_default",
    "source": "own; pattern: Lending Club post-outcome columns",
    "roots": ["target-leakage"],
    "checks": ["data_is_healthy"],
    "description": "The export contains the collection fee, which is only charged after a default: it is zero for all good loans and positive for all bad ones.",
    "location": "inputs, last column",
}


def export(rng, n):
    df = pd.DataFrame({
        "income": rng.lognormal(10.4, 0.4, n),
        "amount": rng.lognormal(9.0, 0.5, n),
        "term": rng.choice([36.0, 60.0], n),
        "age": rng.integers(21, 70, n).astype(float),
        "open_accounts": rng.poisson(9, n).astype(float),
        "utilisation": rng.beta(2, 3, n),
        "inquiries": rng.poisson(1.0, n).astype(float),
    })
    z = 1.2 * (np.log(df.amount / df.income) + 1.4) + 2.5 * (df.utilisation - 0.4) + 0.3 * (df.inquiries - 1) - 0.6
    df["default"] = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)
    df["collection_fee"] = df["default"] * (40 + 0.01 * df.amount + rng.gamma(2, 20, n))
    return df


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    df = export(rng, 1500)
    columns = [c for c in df.columns if c != "default"]
    if fixed:
        columns.remove("collection_fee")
    x = df[columns].copy()
    for c in ("income", "amount", "collection_fee"):
        if c in x:
            x[c] = np.log1p(x[c])
    x = (x - x[:1200].mean()) / x[:1200].std()
    x = torch.tensor(x.to_numpy(), dtype=torch.float32)
    y = torch.tensor(df["default"].to_numpy(), dtype=torch.float32)[:, None]

    model = nn.Sequential(nn.Linear(len(columns), 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=48, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100),
    }
