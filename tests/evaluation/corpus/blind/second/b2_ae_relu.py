"""Autoencoder on standardised process measurements."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_ae_relu",
    "source": "stackoverflow 50555434 (wrong type of activation), DeepCrime add_activation_function",
    "roots": ["wrong-output-activation"],
    "description": "the decoder ends with a ReLU, but the standardised measurements are negative half of the time",
    "location": "decoder[-1] (nn.ReLU)",
    "shows_in": "one-batch",
}


class AutoEncoder(nn.Module):
    def __init__(self, n_in=30, code=6, fixed=False):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_in, 64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
            nn.Linear(32, code),
        )
        decoder = [nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, n_in)]
        if not fixed:
            decoder.append(nn.ReLU())
        self.decoder = nn.Sequential(*decoder)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def make_data(n_batches=8, batch_size=48):
    mix = torch.randn(4, 30)
    raw = []
    for _ in range(n_batches):
        state = torch.randn(batch_size, 4)
        raw.append(20 + 5 * (state @ mix) + 0.5 * torch.randn(batch_size, 30))
    everything = torch.cat(raw)
    mean, std = everything.mean(0), everything.std(0)
    return [(x - mean) / std for x in raw]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = AutoEncoder(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return F.mse_loss(model(batch), batch)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
