"""Curve fitting: frequency and amplitude of pen strokes from sampled points, residual MLP, SGD with Nesterov momentum."""
import torch
import torch.nn as nn

META = {
    "id": "b5_momentum_typo",
    "source": "own experience; CASES.md: AUTOTRAINER 'unstable' (momentum among the repairs)",
    "roots": ["bad-momentum"],
    "description": "momentum is 0.999 in place of 0.9: the velocity never dies down and the weights run away",
    "location": "HPARAMS['momentum']",
    "shows_in": "one-batch",
}

HPARAMS = {"lr": 0.005, "momentum": 0.999, "nesterov": True, "batch_size": 32}


class ResBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.lin1, self.lin2 = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        return x + self.lin2(torch.relu(self.lin1(self.norm(x))))


class StrokeNet(nn.Module):
    def __init__(self, n_in, n_out, d=48, depth=2):
        super().__init__()
        self.stem = nn.Linear(n_in, d)
        self.blocks = nn.Sequential(*[ResBlock(d) for _ in range(depth)])
        self.head = nn.Linear(d, n_out)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x.flatten(1))))


def strokes(n, g):
    t = torch.linspace(0, 1, 12)
    a = 1 + 2 * torch.rand(n, 1, generator=g)
    b = 1 + 2 * torch.rand(n, 1, generator=g)
    xy = torch.stack([a * torch.sin(3 * t), torch.cos(1.5 * b * t)], -1)
    return xy + 0.05 * torch.randn(n, 12, 2, generator=g), torch.cat([a - 2, b - 2], 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    hp = dict(HPARAMS)
    if fixed:
        hp["momentum"] = 0.9
    x, y = strokes(8 * hp["batch_size"], g)
    data = list(zip(x.split(hp["batch_size"]), y.split(hp["batch_size"])))
    model = StrokeNet(24, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=hp["lr"], momentum=hp["momentum"], nesterov=hp["nesterov"])
    criterion = nn.MSELoss()

    def step(batch):
        stroke, shape = batch
        optimizer.zero_grad()
        loss = criterion(model(stroke), shape)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
