"""Electricity load: encoder-style transformer predicts the load at each hour of the window."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b3_load_forecast",
    "source": "CASES.md E stackoverflow 50896412, DeepPavlov bae243b5 (missing squeeze)",
    "roots": ["target-shape-mismatch"],
    "description": "prediction (N, T, 1) against target (N, T): with N equal to T the loss broadcasts to N x T x T without complaint",
    "location": "loss: (pred - batch['load'])",
    "shows_in": "one-batch",
}

HOURS = 24


class LoadTransformer(nn.Module):
    def __init__(self, n_in=4, dim=32):
        super().__init__()
        self.inp = nn.Linear(n_in, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, HOURS, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(self.encoder(self.inp(x) + self.pos))


def make_data(g, n_batches=6, batch=24):
    hour = torch.arange(HOURS).float()
    data = []
    for _ in range(n_batches):
        temp = torch.randn(batch, 1, generator=g) + 0.5 * torch.sin(2 * math.pi * hour / 24)
        weekend = (torch.rand(batch, 1, generator=g) < 0.3).float().expand(batch, HOURS)
        industry = torch.randn(batch, HOURS, generator=g)
        daily = torch.cos(2 * math.pi * (hour - 18) / 24).expand(batch, HOURS)
        load = 0.8 * daily * (1 - 0.5 * weekend) + 0.6 * temp.abs() + 0.5 * industry
        x = torch.stack([temp, weekend, industry, daily], dim=-1)
        data.append({"x": x, "load": load})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 6)
    data = make_data(g)
    model = LoadTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        pred = model(batch["x"])
        if fixed:
            pred = pred.squeeze(-1)
        return (pred - batch["load"]).pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
