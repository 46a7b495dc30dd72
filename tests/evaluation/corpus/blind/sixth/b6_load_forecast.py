"""Electricity-load forecasting with reversible instance normalisation in front of a GRU."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_load_forecast",
    "source": "RevIN re-implementations that reduce over the wrong dimension (time-series repositories, batch_first confusion)",
    "roots": ["batch-mixing"],
    "checks": ["evaluates_cleanly"],
    "description": "The 'instance' statistics are taken over the batch instead of over time, so the forecast for a household depends on who else is in the batch.",
    "location": "RevIN.norm: x.mean(dim=self.dim) with dim=0",
}


class RevIN(nn.Module):
    def __init__(self, dim, eps=1e-4):
        super().__init__()
        self.dim = dim
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(1))
        self.shift = nn.Parameter(torch.zeros(1))

    def norm(self, x):
        mean = x.mean(dim=self.dim, keepdim=True)
        std = (x.var(dim=self.dim, keepdim=True, unbiased=False) + self.eps).sqrt()
        return (x - mean) / std * self.gain + self.shift, (mean, std)

    def denorm(self, y, stats):
        mean, std = stats
        if self.dim == 0:
            mean, std = mean[:, -y.size(1):], std[:, -y.size(1):]
        return (y - self.shift) / (self.gain + 1e-6) * std + mean


class Forecaster(nn.Module):
    def __init__(self, horizon=4, dim=0):
        super().__init__()
        self.revin = RevIN(dim)
        self.rnn = nn.GRU(1, 32, batch_first=True)
        self.proj = nn.Linear(32, horizon)

    def forward(self, x):
        z, stats = self.revin.norm(x)
        _, h = self.rnn(z.unsqueeze(-1))
        return self.revin.denorm(self.proj(h[-1]), stats)


def households(n, gen):
    t = torch.arange(28).float()
    level = 1.0 + 2.0 * torch.rand(n, 1, generator=gen)
    amp = 0.4 + torch.rand(n, 1, generator=gen)
    phase = 6.28 * torch.rand(n, 1, generator=gen)
    series = level + amp * torch.sin(2 * torch.pi * t / 12 + phase)
    return series[:, :24].contiguous(), series[:, 24:].contiguous()


def loss_fn(model, batch):
    x, y = batch
    return F.mse_loss(model(x), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 3)
    data = [households(32, gen) for _ in range(8)]
    val = [households(32, gen) for _ in range(2)]
    model = Forecaster(dim=1 if fixed else 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)

    def evaluate(val_data):
        was_training = model.training
        model.eval()
        err, n = 0.0, 0
        with torch.no_grad():
            for x, y in val_data:
                err += (model(x) - y).abs().mean(1).sum().item()
                n += len(x)
        model.train(was_training)
        return {"mae": err / n}

    return {"model": model, "optimizer": optimizer, "data": data, "val": val, "loss": loss_fn, "evaluate": evaluate}
