"""Gesture recognition from accelerometer windows with an LSTM."""
import torch
import torch.nn as nn

META = {
    "id": "b5_gesture_lstm_axis",
    "source": "CASES.md: taxonomy stackoverflow 46705634 / 42513613 (wrong input format for RNN)",
    "roots": ["batch-mixing"],
    "description": "batch-first data goes into an LSTM without batch_first=True: the recurrence runs over the samples of the batch",
    "location": "GestureLSTM.lstm (batch_first missing)",
    "shows_in": "full-data",
}


class GestureLSTM(nn.Module):
    """Input: (batch, time, 3)."""

    def __init__(self, hidden=40, n_classes=5, **rnn_kwargs):
        super().__init__()
        self.lstm = nn.LSTM(3, hidden, num_layers=1, **rnn_kwargs)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x):
        out, _ = self.lstm(x)
        last = out[:, -1, :]
        return self.fc(last)


def windows(n, g):
    y = torch.randint(0, 5, (n,), generator=g)
    t = torch.linspace(0, 1, 16).view(1, 16, 1)
    axis_phase = torch.tensor([0.0, 1.0, 2.0])
    freq = (1.0 + y.float()).view(n, 1, 1)
    x = torch.sin(6.28 * freq * t + axis_phase) + 0.15 * torch.randn(n, 16, 3, generator=g)
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = windows(8 * 32, g)
    data = list(zip(x.split(32), y.split(32)))
    model = GestureLSTM(batch_first=True) if fixed else GestureLSTM()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        accel, gesture = batch
        return criterion(model(accel), gesture)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
