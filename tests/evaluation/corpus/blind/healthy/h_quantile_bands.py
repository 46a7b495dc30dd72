"""Quantile regression of demand with pinball loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_quantile_bands",
    "description": 'Three quantiles by the pinball loss on noisy targets: the loss has a floor set by the noise, and the outputs are made monotone by cumulated softplus.',
    "roots": [],
}


class QuantileNet(nn.Module):
    def __init__(self, n_in=4, n_q=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.base = nn.Linear(64, 1)
        self.gaps = nn.Linear(64, n_q - 1)

    def forward(self, x):
        h = self.body(x)
        return torch.cat([self.base(h), F.softplus(self.gaps(h))], 1).cumsum(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    taus = torch.tensor([0.1, 0.5, 0.9])
    data = []
    for _ in range(8):
        x = torch.randn(48, 4)
        y = 4 + 2 * x[:, 0] + torch.sin(2 * x[:, 1]) * x[:, 2] + 0.2 * (1 + x[:, 3].abs()) * torch.randn(48)
        data.append((x, y))
    model = QuantileNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        err = y[:, None] - model(x)
        return torch.maximum(taus * err, (taus - 1) * err).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
