"""A denoiser that is told how noisy its input is, and does not listen."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class Denoiser(nn.Module):
    def __init__(self, size=8, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.noise = nn.Linear(width, size)

    def forward(self, noisy, level):
        known = torch.cat([noisy, torch.ones_like(level)[:, None]], dim=1)
        return self.noise(self.net(known))


def denoising_loss(model, batch):
    clean, noise, level = batch
    return F.mse_loss(model(clean + level[:, None] * noise, level), noise)


def training():
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    clean, noise, level = torch.randn(16, 8), torch.randn(16, 8), torch.rand(16)
    return Training(model, optimizer, loss=denoising_loss, data=(clean, noise, level))
