"""Autoencoder for standardised vibration spectra (anomaly detection)."""
import torch
import torch.nn as nn

META = {
    "id": "b3_vibration_autoencoder",
    "source": "CASES.md B 42514960 / E stackoverflow 50555434",
    "roots": ["wrong-output-activation"],
    "description": "sigmoid on the decoder, but the spectra are standardised (negative and above 1)",
    "location": "decoder[-1]: nn.Sigmoid",
    "shows_in": "one-batch",
}


class SpectrumAE(nn.Module):
    def __init__(self, n_bins=64, code=8, squash=True):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_bins, 96),
            nn.ELU(),
            nn.Linear(96, 48),
            nn.ELU(),
            nn.Linear(48, code),
        )
        layers = [nn.Linear(code, 48), nn.ELU(), nn.Linear(48, 96), nn.ELU(), nn.Linear(96, n_bins)]
        if squash:
            layers.append(nn.Sigmoid())
        self.decoder = nn.Sequential(*layers)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def spectra(g, n, n_bins=64):
    f = torch.linspace(0, 1, n_bins)
    centre = 0.2 + 0.6 * torch.rand(n, 1, generator=g)
    width = 0.05 + 0.1 * torch.rand(n, 1, generator=g)
    height = 0.5 + torch.rand(n, 1, generator=g)
    harmonic = 0.5 * height * torch.exp(-((f - centre / 2) / width) ** 2)
    return height * torch.exp(-((f - centre) / width) ** 2) + harmonic


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 77)
    x = spectra(g, 8 * 32)
    x = (x - x.mean(0)) / x.std(0)
    data = list(x.split(32))
    model = SpectrumAE(squash=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()

    def loss(model, batch):
        return criterion(model(batch), batch)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
