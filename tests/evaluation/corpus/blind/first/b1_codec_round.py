"""Learned codec for sensor vectors with a quantised code."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_codec_round",
    "source": "CASES.md C 41780344, 59656219 (gradient of floor/round)",
    "roots": ["disconnected-graph"],
    "description": "torch.round without a straight-through estimator: the encoder gets a zero gradient",
    "location": "Codec.quantize: torch.round",
    "shows_in": "full-data",
}


class Codec(nn.Module):
    def __init__(self, n_in, code=6, hidden=64, ste=False):
        super().__init__()
        self.ste = ste
        self.encoder = nn.Sequential(nn.Linear(n_in, hidden), nn.GELU(), nn.Linear(hidden, code))
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
                                     nn.Linear(hidden, n_in))

    def quantize(self, z):
        q = torch.round(z * 4) / 4
        if self.ste:
            return z + (q - z).detach()
        return q

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(self.quantize(z))


def make_readings(n, n_in=24, n_factors=4):
    factors = torch.randn(n, n_factors)
    mix = torch.randn(n_factors, n_in)
    warp = torch.randn(n_factors, n_in) * 0.4
    x = factors @ mix + torch.sin(factors) @ warp
    return (x - x.mean(0)) / x.std(0)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = make_readings(12 * 64)
    data = list(x.split(64))
    model = Codec(x.shape[1], ste=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, x):
        return F.mse_loss(model(x), x)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
