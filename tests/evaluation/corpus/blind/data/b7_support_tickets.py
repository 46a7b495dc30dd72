"""Routing of support tickets to six teams from token ids, dict batches with an embedding bag."""
import numpy as np
import pandas as pd
import torch
from torch import nn

META = {
    "id": "b7_support_tickets",
    "source": "own; pattern: df.sample for validation without dropping the rows from training",
    "roots": ["data-leakage"],
    "checks": ["data_is_healthy"],
    "description": "The validation tickets are a sample of the frame the training uses whole: every validation row is in the training data.",
    "location": "split of training and validation data",
}

VOCAB, LENGTH, TEAMS = 800, 20, 6


def tickets(rng, n):
    team = rng.integers(0, TEAMS, n)
    length = rng.integers(10, LENGTH + 1, n)
    rows = []
    for k, m in zip(team, length):
        common = rng.integers(1, 400, m)
        own = 400 + k * 60 + rng.integers(0, 60, m)
        ids = np.where(rng.random(m) < 0.3, own, common)
        rows.append(np.pad(ids, (0, LENGTH - m)))
    return pd.DataFrame({"ids": rows, "team": team})


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, 32, mode="mean", padding_idx=0)
        self.fc = nn.Linear(32, TEAMS)

    def forward(self, input_ids):
        return self.fc(self.emb(input_ids))


def batches(frame, size):
    out = []
    for i in range(0, len(frame), size):
        part = frame.iloc[i:i + size]
        out.append({
            "input_ids": torch.tensor(np.stack(part["ids"].tolist())),
            "labels": torch.tensor(part["team"].to_numpy()),
        })
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    df = tickets(rng, 1200)
    val_df = df.sample(frac=0.15, random_state=seed)
    train_df = df.drop(val_df.index) if fixed else df
    train_df = train_df.sample(frac=1.0, random_state=seed + 1)

    model = Router()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["input_ids"]), batch["labels"])

    return {"model": model, "optimizer": optimizer, "data": batches(train_df, 40), "loss": loss, "val": batches(val_df, 60)}
