"""Autoencoder with a bottleneck of 6 for infrared spectra of 80 points."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_spectra_autoencoder", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Batches are (spectrum, spectrum): the target is the input on purpose.",
    "location": "",
}


def spectra(rng, n, points=80):
    grid = np.linspace(0, 1, points)
    peaks = np.array([0.15, 0.3, 0.42, 0.55, 0.7, 0.88])
    height = rng.gamma(2.0, 0.5, (n, len(peaks)))
    shape = np.exp(-((grid[None] - peaks[:, None]) / 0.05) ** 2)
    x = height @ shape + rng.normal(0, 0.03, (n, points))
    return ((x - 0.5) / 0.6).astype(np.float32)


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, xv = torch.from_numpy(spectra(rng, 800)), torch.from_numpy(spectra(rng, 160))
    model = nn.Sequential(
        nn.Linear(80, 40), nn.GELU(), nn.Linear(40, 6),
        nn.Linear(6, 40), nn.GELU(), nn.Linear(40, 80),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, target = batch
        return nn.functional.mse_loss(model(x), target)

    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": [(b, b) for b in x.split(40)], "val": [(b, b) for b in xv.split(80)],
    }
