"""Wine quality from chemistry with hand-made dense layers."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_handmade_layers",
    "source": "CASES.md G C1 (saturating activation), E bindsnet 174 (wrong weights initialization)",
    "roots": ["saturated-activations", "bad-initialization"],
    "description": "weights drawn with torch.randn without scaling by the fan-in: the tanh units sit at -1 and 1",
    "location": "Dense.weight",
    "shows_in": "full-data",
}


class Dense(nn.Module):
    def __init__(self, n_in, n_out, fixed):
        super().__init__()
        w = torch.randn(n_in, n_out)
        if fixed:
            w = w / math.sqrt(n_in)
        self.weight = nn.Parameter(w)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class WineNet(nn.Module):
    def __init__(self, fixed, n_in=40, width=80):
        super().__init__()
        self.d1 = Dense(n_in, width, fixed)
        self.d2 = Dense(width, width, fixed)
        self.d3 = Dense(width, width, fixed)
        self.d4 = Dense(width, width, fixed)
        self.out = Dense(width, 1, fixed)

    def forward(self, x):
        for layer in (self.d1, self.d2, self.d3, self.d4):
            x = torch.tanh(layer(x))
        return self.out(x).squeeze(-1)


def make_data(g, n_batches=12, batch=48):
    w = torch.randn(40, 2, generator=g) / math.sqrt(40)
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch, 40, generator=g)
        s = x @ w
        data.append((x, s[:, 0] + 0.5 * torch.sin(2 * s[:, 1])))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 57)
    data = make_data(g)
    model = WineNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return F.mse_loss(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
