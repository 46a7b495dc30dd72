"""Breast-cancer style benign/malignant classifier; labels come from the original file."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b5_tumor_labels_one_two",
    "source": "own experience; CASES.md: AUTOTRAINER loss_issue (negative loss)",
    "roots": ["invalid-labels"],
    "description": "labels are 1 and 2 in place of 0 and 1: binary cross-entropy becomes negative and falls without bound",
    "location": "read_table: diagnosis column",
    "shows_in": "one-batch",
}


def read_table(n, rng):
    """diagnosis: 1 = benign, 2 = malignant"""
    diagnosis = rng.integers(1, 3, n)
    shift = np.random.default_rng(3).normal(0, 0.9, 20)
    cells = rng.normal(size=(n, 20)) + np.where(diagnosis[:, None] == 2, shift, -shift)
    return cells.astype("float32"), diagnosis


class TumorNet(nn.Module):
    def __init__(self, n_in=20):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, 128), nn.ReLU(),
            nn.Linear(128, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    cells, diagnosis = read_table(8 * 32, rng)
    if fixed:
        diagnosis = diagnosis - 1
    X = torch.from_numpy(cells)
    y = torch.from_numpy(diagnosis).float()
    data = [{"cells": X[i:i + 32], "malignant": y[i:i + 32]} for i in range(0, len(X), 32)]

    model = TumorNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        return criterion(model(batch["cells"]), batch["malignant"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
