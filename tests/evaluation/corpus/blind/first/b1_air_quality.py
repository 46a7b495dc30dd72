"""Air quality regression from station measurements."""
import torch
import torch.nn as nn

META = {
    "id": "b1_air_quality",
    "source": "CASES.md C 51835124 (corrupted data with NAs)",
    "roots": ["nan-in-data"],
    "description": "a few humidity readings are missing (NaN) and go into the network",
    "location": "read_stations: column 2 of the features",
    "shows_in": "nan",
}


class AirNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.bn = nn.BatchNorm1d(n_in)
        self.net = nn.Sequential(
            nn.Linear(n_in, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(self.bn(x)).squeeze(1)


def read_stations(n):
    temp = 15 + 8 * torch.randn(n)
    wind = torch.rand(n) * 10
    humidity = 40 + 50 * torch.rand(n)
    traffic = torch.rand(n) * 5
    hour = torch.randint(0, 24, (n,)).float()
    rush = torch.exp(-((hour - 8) / 2) ** 2) + torch.exp(-((hour - 18) / 2) ** 2)
    pm = 10 + 6 * traffic * (0.3 + rush) - 0.8 * wind + 0.1 * humidity - 0.2 * temp
    x = torch.stack([temp, wind, humidity, traffic, torch.sin(hour / 24 * 6.283), torch.cos(hour / 24 * 6.283)], 1)
    gaps = torch.randint(n // 2, n, (4,))
    x[gaps, 2] = float("nan")
    return x, (pm - pm.mean()) / pm.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 32
    x, pm = read_stations(10 * bs)
    if fixed:
        column = x[:, 2]
        column[torch.isnan(column)] = column.nanmean()
    data = [{"x": x[i:i + bs], "pm": pm[i:i + bs]} for i in range(0, len(x), bs)]
    model = AirNet(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.SmoothL1Loss()

    def loss(model, batch):
        return criterion(model(batch["x"]), batch["pm"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
