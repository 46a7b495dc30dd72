"""Rain probability from raw weather station readings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_weather_station",
    "source": "CASES.md E stackoverflow 47318871 / 53914450 (missing normalisation)",
    "roots": ["unnormalized-inputs"],
    "description": "pressure in hPa, humidity in percent, altitude in metres go in as they are",
    "location": "build: readings not standardised",
    "shows_in": "one-batch",
}


class RainNet(nn.Module):
    def __init__(self, n_in=5):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 64),
            nn.Tanh(),
            nn.Linear(64, 64),
            nn.Tanh(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def station(g, n):
    z = torch.randn(n, 5, generator=g)
    pressure = 1013 + 8 * z[:, 0]
    humidity = 60 + 15 * z[:, 1]
    temperature = 12 + 8 * z[:, 2]
    altitude = 500 + 150 * z[:, 3]
    wind = 15 + 6 * z[:, 4]
    rain = -1.2 * z[:, 0] + z[:, 1] - 0.8 * z[:, 2] * z[:, 1] + 0.5 * z[:, 4]
    x = torch.stack([pressure, humidity, temperature, altitude, wind], dim=1)
    return x, (rain > 0).float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 62)
    x, y = station(g, 8 * 48)
    if fixed:
        x = (x - x.mean(dim=0)) / x.std(dim=0)
    data = [(x[i:i + 48], y[i:i + 48]) for i in range(0, len(x), 48)]
    model = RainNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        xb, yb = batch
        return F.binary_cross_entropy_with_logits(model(xb), yb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
