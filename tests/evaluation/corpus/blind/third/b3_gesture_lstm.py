"""Gesture recognition from accelerometer sequences with an LSTM."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_gesture_lstm",
    "source": "CASES.md E stackoverflow 46705634 / 42513613 (wrong input format for rnn)",
    "roots": ["batch-mixing"],
    "description": "batch_first is missing: the LSTM runs along the batch, so each sample's state comes from its neighbours",
    "location": "GestureLSTM.lstm: batch_first",
    "shows_in": "full-data",
}


class GestureLSTM(nn.Module):
    def __init__(self, fixed, n_axes=6, hidden=48, n_gestures=6):
        super().__init__()
        if fixed:
            self.lstm = nn.LSTM(n_axes, hidden, batch_first=True)
        else:
            self.lstm = nn.LSTM(n_axes, hidden)
        self.fc = nn.Linear(hidden, n_gestures)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def make_data(g, n_batches=12, batch=24, length=20):
    freq = 0.15 + 0.1 * torch.arange(6).float()
    mix = torch.randn(6, 6, generator=g)
    t = torch.arange(length).float()
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch,), generator=g)
        phase = 6.28 * torch.rand(batch, 1, 6, generator=g)
        wave = torch.sin(freq[y][:, None, None] * t[None, :, None] * 2 + phase)
        x = wave * (1 + 0.2 * mix[y][:, None]) + 0.1 * torch.randn(batch, length, 6, generator=g)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 44)
    data = make_data(g)
    model = GestureLSTM(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
