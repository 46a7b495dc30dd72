"""Convolutional autoencoder on standardised spectrogram patches."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_spectro_ae",
    "source": "CASES.md B 42514960 (sigmoid output in an autoencoder of signed data)",
    "roots": ["wrong-output-activation"],
    "description": "the decoder ends in a sigmoid, but the patches are standardised (zero mean, unit variance)",
    "location": "PatchAutoencoder.decode: torch.sigmoid",
    "shows_in": "one-batch",
}


class PatchAutoencoder(nn.Module):
    def __init__(self, latent=24, squash=True):
        super().__init__()
        self.squash = squash
        self.c1 = nn.Conv2d(1, 12, 3, stride=2, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.to_z = nn.Linear(24 * 4 * 4, latent)
        self.from_z = nn.Linear(latent, 24 * 4 * 4)
        self.d1 = nn.ConvTranspose2d(24, 12, 4, stride=2, padding=1)
        self.d2 = nn.ConvTranspose2d(12, 1, 4, stride=2, padding=1)

    def encode(self, x):
        h = F.elu(self.c1(x))
        h = F.elu(self.c2(h))
        return self.to_z(h.flatten(1))

    def decode(self, z):
        h = F.elu(self.from_z(z)).view(-1, 24, 4, 4)
        h = F.elu(self.d1(h))
        out = self.d2(h)
        if self.squash:
            out = torch.sigmoid(out)
        return out

    def forward(self, x):
        return self.decode(self.encode(x))


def make_patches(n, size=16):
    t = torch.linspace(0, 1, size)
    f = torch.linspace(0, 1, size).view(-1, 1)
    pitch = torch.rand(n, 1, 1)
    slope = torch.rand(n, 1, 1) - 0.5
    width = 0.08 + 0.1 * torch.rand(n, 1, 1)
    ridge = torch.exp(-((f - pitch - slope * t) / width) ** 2)
    beat = 0.5 * torch.sin(2 * math.pi * (t * 2 + torch.rand(n, 1, 1)))
    return (ridge + 0.4 * beat).unsqueeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    patches = make_patches(6 * 32)
    patches = (patches - patches.mean()) / patches.std()
    data = list(patches.split(32))
    model = PatchAutoencoder(squash=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, x):
        return F.mse_loss(model(x), x)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
