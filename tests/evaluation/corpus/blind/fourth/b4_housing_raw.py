"""House prices from raw listing columns."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b4_housing_raw",
    "source": "CASES.md 58525908 / 52800582 (features on different scales, not scaled)",
    "roots": ["unnormalized-inputs"],
    "description": "year, area and income columns go into the network on their raw scales",
    "location": "prepare(): features",
    "shows_in": "one-batch",
}


class PriceNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.hidden1 = nn.Linear(n_in, 64)
        self.hidden2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        x = torch.tanh(self.hidden1(x))
        x = torch.tanh(self.hidden2(x))
        return self.out(x).squeeze(-1)


def listings(rng, n):
    year = rng.uniform(1920, 2020, n)
    area = rng.uniform(400, 4000, n)
    income = rng.lognormal(11, 0.4, n)
    rooms = np.round(area / 500 + rng.normal(0, 0.7, n)).clip(1)
    price = 0.5 * (area / 1000) + 0.02 * (year - 1970) + income / 1e5 + 0.2 * rooms * (year > 1990)
    return np.stack([year, area, income, rooms], 1), price


def prepare(features, price, scale):
    if scale:
        features = (features - features.mean(0)) / features.std(0)
    price = (price - price.mean()) / price.std()
    return torch.tensor(features, dtype=torch.float32), torch.tensor(price, dtype=torch.float32)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x, y = prepare(*listings(rng, 512), scale=fixed)
    data = list(zip(x.split(64), y.split(64)))
    model = PriceNet(x.size(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        features, price = batch
        return nn.functional.mse_loss(model(features), price)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
