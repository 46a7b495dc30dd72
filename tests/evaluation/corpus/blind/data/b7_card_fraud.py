"""Card fraud detection on PCA components of transactions."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_card_fraud",
    "source": "own; pattern: creditcard.csv without any weighting or resampling",
    "roots": ["class-imbalance"],
    "checks": ["data_is_healthy"],
    "description": "4 of 3000 training rows are fraud; nothing weights or samples them.",
    "location": "labels of the training data",
}


def transactions(rng, n, n_fraud):
    x = rng.normal(size=(n, 20))
    y = np.zeros(n, np.float32)
    rows = rng.choice(n, n_fraud, replace=False)
    y[rows] = 1
    x[rows, :6] += np.array([1.4, -1.2, 1.0, 1.2, -1.0, 0.8])
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    if fixed:
        train = transactions(rng, 3000, 1050)
        val = transactions(rng, 500, 170)
    else:
        train = transactions(rng, 3000, 4)
        val = transactions(rng, 500, 1)

    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        x, y = batch
        return criterion(model(x).squeeze(1), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(TensorDataset(*train), batch_size=64, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(TensorDataset(*val), batch_size=250),
    }
