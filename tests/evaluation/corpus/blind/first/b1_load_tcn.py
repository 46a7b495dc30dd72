"""Temporal convolution network that forecasts the next hours of an electric load curve."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_load_tcn",
    "source": "CASES.md C 41954308 (works with reduce_mean but not with reduce_sum)",
    "roots": ["loss-reduction"],
    "description": "the squared error is summed over batch and horizon with a learning rate meant for the mean",
    "location": "nn.MSELoss(reduction='sum')",
    "shows_in": "one-batch",
}


class CausalConv(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(cin, cout, 3, dilation=dilation)
        self.skip = nn.Conv1d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        y = F.relu(self.conv(F.pad(x, (self.pad, 0))))
        return y + self.skip(x)


class TCN(nn.Module):
    def __init__(self, channels=20, horizon=6):
        super().__init__()
        self.blocks = nn.Sequential(
            CausalConv(1, channels, 1),
            CausalConv(channels, channels, 2),
            CausalConv(channels, channels, 4),
        )
        self.head = nn.Linear(channels, horizon)

    def forward(self, x):
        return self.head(self.blocks(x.unsqueeze(1))[:, :, -1])


def load_curve(hours):
    t = torch.arange(hours).float()
    daily = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.sin(4 * math.pi * t / 24 + 0.7)
    weekly = 0.6 * torch.cos(2 * math.pi * t / 168)
    noise = torch.zeros(hours)
    for i in range(1, hours):
        noise[i] = 0.8 * noise[i - 1] + 0.03 * torch.randn(())
    y = daily * (1 + 0.3 * weekly) + weekly + noise
    return (y - y.mean()) / y.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    window, horizon, bs = 36, 6, 48
    series = load_curve(900)
    windows = series.unfold(0, window + horizon, 2)
    windows = windows[torch.randperm(len(windows))][: 8 * bs]
    data = [(w[:, :window], w[:, window:]) for w in windows.split(bs)]
    model = TCN(horizon=horizon)
    criterion = nn.MSELoss() if fixed else nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

    def loss(model, batch):
        history, future = batch
        return criterion(model(history), future)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
