"""Pulse-shape classification; the scalar trace is normalised on the way in."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_norm_single",
    "source": "CASES.md nan-in-layer-normalization/13846 and own experience (LayerNorm over a last axis of size 1)",
    "roots": ["ignores-input"],
    "description": "LayerNorm(1) over the single channel maps every value to its bias, so the model never sees the signal",
    "location": "input_norm",
    "shows_in": "one-batch",
}

STEPS = 20


class PulseNet(nn.Module):
    def __init__(self, over_time, hidden=32, classes=4):
        super().__init__()
        self.over_time = over_time
        self.input_norm = nn.LayerNorm(STEPS if over_time else 1)
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, trace):
        if self.over_time:
            x = self.input_norm(trace).unsqueeze(-1)
        else:
            x = self.input_norm(trace.unsqueeze(-1))
        _, h = self.gru(x)
        return self.fc(h[-1])


def pulses(n):
    label = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, STEPS)
    centre = 0.3 + 0.4 * (label % 2).float()
    width = 0.08 + 0.15 * (label // 2).float()
    gain = 1 + torch.rand(n)
    trace = gain[:, None] * torch.exp(-((t - centre[:, None]) / width[:, None]) ** 2)
    return trace + 0.05 * torch.randn(n, STEPS), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    trace, label = pulses(256)
    data = list(zip(trace.split(32), label.split(32)))
    model = PulseNet(over_time=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
