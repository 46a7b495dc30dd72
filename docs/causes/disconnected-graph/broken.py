"""An autoencoder. Its codes are kept for a plot, without their graph, and the decoder reads the same variable."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16))
        self.decoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 30))

    def forward(self, x):
        code = self.encoder(x).detach()
        self.last_code = code
        return self.decoder(code)


def training():
    model = AutoEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    samples = torch.randn(16, 8) @ torch.randn(8, 30)
    return Training(model, optimizer, loss=lambda model, x: F.mse_loss(model(x), x), data=samples)
