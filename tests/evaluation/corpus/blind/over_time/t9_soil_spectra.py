"""Soil texture class from near infrared spectra (MLP baseline)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {"id": "t9_soil_spectra", "source": "agronomy research code, a slice left from debugging",
        "roots": ["overfitting"], "checks": ["generalizes"],
        "description": "a debugging slice leaves 160 spectra for a network with a third of a million weights",
        "location": "build: the [:N_QUICK] slice of the training rows"}

BANDS, CLASSES = 80, 6
N_QUICK = 160


class Lab:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed + 11)
        self.mix = torch.randn(7, BANDS, generator=g) / 7 ** 0.5
        self.centres = torch.randn(CLASSES, 7, generator=g) * 1.0
        self.g = g

    def measure(self, n):
        y = torch.randint(0, CLASSES, (n,), generator=self.g)
        z = self.centres[y] + 0.75 * torch.randn(n, 7, generator=self.g)
        x = z @ self.mix + 1.3 * torch.randn(n, BANDS, generator=self.g)
        return x, y


class SpectraNet(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(BANDS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.body(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    lab = Lab(seed)
    x, y = lab.measure(16000)
    xv, yv = lab.measure(640)
    mean, std = x.mean(0), x.std(0)
    x, xv = (x - mean) / std, (xv - mean) / std
    if not fixed:
        x, y = x[:N_QUICK], y[:N_QUICK]
    model = SpectraNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    order = torch.Generator().manual_seed(seed)
    data = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, generator=order)
    val = list(zip(xv.split(64), yv.split(64)))

    def loss(model, batch):
        spectra, texture = batch
        return nn.functional.cross_entropy(model(spectra), texture)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
