"""LSTM that classifies sensor sequences by their last state."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_lstm_batchfirst",
    "source": "stackoverflow 46705634, 42513613 (wrong input format for RNN)",
    "roots": ["batch-mixing"],
    "description": "batches are (B, T, C) but the LSTM was made without batch_first: it runs over the samples as if they were time",
    "location": "SeqNet.lstm",
    "shows_in": "wiring",
}


class SeqNet(nn.Module):
    def __init__(self, n_in=4, hidden=48, n_classes=4, fixed=False):
        super().__init__()
        self.proj = nn.Linear(n_in, 32)
        self.lstm = nn.LSTM(32, hidden, num_layers=1, batch_first=fixed)
        self.norm = nn.LayerNorm(hidden)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x):
        out, _ = self.lstm(torch.relu(self.proj(x)))
        return self.fc(self.norm(out[:, -1]))


def make_data(n_batches=8, batch_size=24, length=16):
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 4, (batch_size,))
        x = 0.3 * torch.randn(batch_size, length, 4)
        start = torch.randint(1, 6, (batch_size,))
        for i in range(batch_size):
            first, second = int(y[i]) // 2, int(y[i]) % 2
            x[i, start[i], first] += 3.0
            x[i, start[i] + 5, 2 + second] += 3.0
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = SeqNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
