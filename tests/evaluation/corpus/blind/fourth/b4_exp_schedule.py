"""Autoregressive forecasting with a small TCN and an exponential schedule stepped per epoch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_exp_schedule",
    "source": "own experience; cf. CASES.md 41977498 (learning rate and number of epochs)",
    "roots": ["lr-decayed-too-early", "scheduler-misuse"],
    "description": "ExponentialLR with gamma 0.2 per epoch: after three epochs the learning rate is below a hundredth",
    "location": "scheduler gamma",
    "shows_in": "full-data",
}


class CausalConv(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(cin, cout, 3, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))


class TCN(nn.Module):
    def __init__(self, channels=2, width=24):
        super().__init__()
        self.first = CausalConv(channels, width, 1)
        self.second = CausalConv(width, width, 2)
        self.third = CausalConv(width, width, 4)
        self.out = nn.Conv1d(width, channels, 1)

    def forward(self, x):
        h = F.relu(self.first(x))
        h = h + F.relu(self.second(h))
        h = h + F.relu(self.third(h))
        return self.out(h)


def signals(n, steps=33):
    t = torch.arange(steps).float()
    rate = 0.2 + 0.5 * torch.rand(n, 2, 1)
    phase = 6.28 * torch.rand(n, 2, 1)
    return torch.sin(rate * t + phase)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = list(signals(128).split(16))
    model = TCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99 if fixed else 0.2)

    def loss(model, wave):
        predicted = model(wave[:, :, :-1])
        return F.mse_loss(predicted[:, :, 8:], wave[:, :, 9:])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "scheduler": scheduler}
