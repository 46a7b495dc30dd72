"""Autoencoders with an operation that leaves its domain."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import fault
from .vae import glyphs, reconstruction


@fault("unstable-operation", operation="logit")
def logit_of_black_and_white(broken: bool) -> Training:
    """Pixels are stretched by a logit before the encoder, as flows do. These are binary: the logit of 0 and of 1 is
    infinite, and `eps` was left out."""

    class Stretched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 8))
            self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 36))

        def forward(self, x: Tensor) -> Tensor:
            stretched = torch.logit(x, eps=None if broken else 0.1)  # guilty
            return self.decoder(self.encoder(stretched))

    model = Stretched()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, lambda model, x: reconstruction(model(x), x), glyphs())


@fault("unstable-operation", operation="pow (backward)")
def gamma_of_black_pixels(broken: bool) -> Training:
    """Raw photos are developed by a learned exposure and a gamma of 1/2.2. The root of a black pixel is 0, its slope is
    infinite, and infinity times 0 is the gradient of the exposure."""

    class Darkroom(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.exposure = nn.Parameter(torch.tensor(1.0))
            self.encoder = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 8))
            self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 36))

        def forward(self, raw: Tensor) -> Tensor:
            exposed = self.exposure * raw
            developed = (exposed if broken else exposed + 1e-3).pow(1 / 2.2)  # guilty
            return self.decoder(self.encoder(developed))

    shapes = torch.rand(5, 36) * (torch.rand(5, 36) < 0.3)
    photos = torch.rand(256, 5) @ shapes / 2
    model = Darkroom()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, lambda model, x: F.mse_loss(model(x), x), list(photos.split(32)))


@fault("unstable-operation", operation="div")
def temperature_annealed_to_zero(broken: bool) -> Training:
    """A discrete code by Gumbel-softmax, whose temperature falls by 1/30 per step. Nobody gave it a floor: at step 30
    the scores are divided by 0."""

    class Discrete(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 8 * 4))
            self.decoder = nn.Sequential(nn.Linear(8 * 4, 64), nn.ReLU(), nn.Linear(64, 36))
            self.register_buffer("steps", torch.tensor(0))

        def forward(self, x: Tensor) -> Tensor:
            temperature = (1 - self.steps / 30).clamp(min=0.0 if broken else 0.5)
            scores = self.encoder(x).view(-1, 8, 4)
            gumbel = -torch.log(torch.empty_like(scores).exponential_())
            code = torch.softmax((scores + gumbel) / temperature, dim=-1)  # guilty
            if self.training:
                self.steps += 1
            return self.decoder(code.flatten(1))

    model = Discrete()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, lambda model, x: reconstruction(model(x), x), glyphs())
