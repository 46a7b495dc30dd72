"""Daily return prediction for a small basket, temporal convolution."""
import torch
import torch.nn as nn

META = {
    "id": "b4_returns_relu",
    "source": "CASES.md 60801900 (model predicts negative values as zeros)",
    "roots": ["wrong-output-activation"],
    "description": "a ReLU after the last layer, while half of the targets are negative",
    "location": "last block of the head",
    "shows_in": "one-batch",
}


def block(cin, cout, activation=True):
    layers = [nn.Conv1d(cin, cout, 3, padding=1)]
    if activation:
        layers.append(nn.ReLU())
    return layers


class BasketNet(nn.Module):
    def __init__(self, assets=5, last_activation=True):
        super().__init__()
        self.body = nn.Sequential(*block(assets, 32), *block(32, 32))
        head = [nn.Linear(32 * 12, 64), nn.ReLU(), nn.Linear(64, assets)]
        if last_activation:
            head.append(nn.ReLU())
        self.head = nn.Sequential(*head)

    def forward(self, window):
        return self.head(self.body(window).flatten(1))


def market(n, assets=5, steps=12):
    factor = torch.randn(n, 1, steps + 1).cumsum(-1) / 3
    beta = torch.tensor([1.0, -0.7, 0.5, 1.3, -1.1]).view(1, assets, 1)
    lagged = torch.cat([torch.zeros(n, 1, 1), factor[..., :-1]], -1)
    series = beta * lagged
    x = beta.abs() * factor[..., :-1] + 0.05 * torch.randn(n, assets, steps)
    return x, series[..., -1]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = market(256)
    data = [(x[i:i + 32], y[i:i + 32]) for i in range(0, 256, 32)]
    model = BasketNet(last_activation=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    huber = nn.SmoothL1Loss()

    def loss(model, batch):
        window, target = batch
        return huber(model(window), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
