"""Gesture recognition from accelerometer windows with an LSTM."""
import torch
import torch.nn as nn

META = {
    "id": "b1_gesture_lstm",
    "source": "PyTorch forum classic: LSTM without batch_first fed with (batch, time, features)",
    "roots": ["batch-mixing"],
    "description": "the LSTM takes the batch axis for time: samples of a batch leak into one another",
    "location": "GestureLSTM.lstm (batch_first missing)",
    "shows_in": "full-data",
}


class GestureLSTM(nn.Module):
    def __init__(self, n_channels, n_gestures, hidden=32, **lstm_kwargs):
        super().__init__()
        self.proj = nn.Linear(n_channels, hidden)
        self.lstm = nn.LSTM(hidden, hidden, **lstm_kwargs)
        self.fc = nn.Linear(hidden, n_gestures)

    def forward(self, x):
        # x: (batch, time, channels)
        x = torch.relu(self.proj(x))
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def record_gestures(n, length=18, n_channels=3, n_gestures=5):
    label = torch.randint(0, n_gestures, (n,))
    t = torch.linspace(0, 1, length)
    amp = torch.randn(n_gestures, n_channels, 1)
    freq = 1 + torch.arange(n_gestures).float().view(-1, 1, 1) * 0.7
    phase = 6.28 * torch.rand(n, 1, 1)
    wave = amp[label] * torch.sin(6.28 * freq[label] * t + phase)
    drift = 0.5 * torch.randn(n, n_channels, 1)
    x = wave + drift + 0.1 * torch.randn(n, n_channels, length)
    return x.transpose(1, 2).contiguous(), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_gestures, batch_size = 5, 32
    x, label = record_gestures(10 * batch_size, n_gestures=n_gestures)
    data = [(x[i:i + batch_size], label[i:i + batch_size]) for i in range(0, len(x), batch_size)]
    kwargs = {"batch_first": True} if fixed else {}
    model = GestureLSTM(x.shape[-1], n_gestures, **kwargs)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        x, label = batch
        return criterion(model(x), label)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
