import numpy as np
import torch
from torch import nn

META = {"id": "w10_lab_to_field_spectra",
        "source": "chemometrics: calibration in the laboratory, validation with the noisier field instrument",
        "roots": [],
        "checks": [],
        "description": "Healthy: the validation spectra have twice the sensor noise of the training spectra, so the validation loss stays clearly higher, but both fall and stay down.",
        "location": ""}

POINTS = 30
GRID = np.linspace(0, 1, POINTS)


def spectra(n, rng, noise):
    conc = rng.uniform(0, 1, (n, 3))
    peaks = np.stack([np.exp(-((GRID - c) / w) ** 2) for c, w in ((0.25, 0.12), (0.5, 0.15), (0.72, 0.1))])
    base = rng.uniform(-0.3, 0.3, (n, 1)) + rng.uniform(-0.3, 0.3, (n, 1)) * GRID
    absorb = conc @ peaks * (1 + 0.2 * conc[:, :1]) + base + noise * rng.standard_normal((n, POINTS))
    return torch.tensor((absorb - 0.45) / 0.4, dtype=torch.float32), torch.tensor((conc - 0.5) / 0.29, dtype=torch.float32)


class Calibration(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.inp = nn.Linear(POINTS, hidden)
        self.out = nn.Linear(hidden, 3)
        self.skip = nn.Linear(POINTS, 3)

    def forward(self, s):
        return self.skip(s) + self.out(torch.tanh(self.inp(s)))


def huber(model, batch):
    return nn.functional.huber_loss(model(batch[0]), batch[1])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 402)
    lab, field = spectra(1280, rng, 0.08), spectra(256, rng, 0.16)
    model = Calibration()
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3),
            "data": list(zip(lab[0].split(32), lab[1].split(32))),
            "val": list(zip(field[0].split(64), field[1].split(64))), "loss": huber}
