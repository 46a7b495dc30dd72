"""Contrastive pretraining: two noisy views of each signal must find each other in the batch."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "h7_view_pairs", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Batches are (view, view) of the same signals without labels; the views resemble each other on purpose.",
    "location": "",
}


class Pairs(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        t = np.arange(48)
        f, p = rng.uniform(0.1, 0.9, (n, 1)), rng.uniform(0, 6.28, (n, 1))
        a = rng.normal(size=(n, 1))
        self.clean = (np.sin(f * t + p) + a * np.linspace(-1, 1, 48)).astype(np.float32)

    def __len__(self):
        return len(self.clean)

    def view(self, x):
        g = 1 + 0.15 * torch.randn(1)
        return x * g + 0.35 * torch.randn_like(x)

    def __getitem__(self, i):
        x = torch.from_numpy(self.clean[i])
        return self.view(x), self.view(x)


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        a, b = (nn.functional.normalize(model(v), dim=1) for v in batch)
        logits = a @ b.T / 0.2
        target = torch.arange(len(a))
        return (nn.functional.cross_entropy(logits, target) + nn.functional.cross_entropy(logits.T, target)) / 2

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(Pairs(960, seed), batch_size=48, shuffle=True, drop_last=True, generator=g),
        "val": DataLoader(Pairs(144, seed + 70), batch_size=48),
    }
