"""Gesture recognition from joint trajectories, LSTM."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_lstm_axes",
    "source": "CASES.md stackoverflow 46705634; discuss.pytorch.org/t/62364 (batch_first)",
    "roots": ["batch-mixing"],
    "description": "batch_first is missing: the LSTM runs along the batch and treats time as the batch",
    "location": "lstm (batch_first)",
    "shows_in": "full-data",
}


class GestureNet(nn.Module):
    def __init__(self, joints=6, hidden=32, gestures=5, batch_first=False):
        super().__init__()
        self.lstm = nn.LSTM(joints, hidden, batch_first=batch_first)
        self.norm = nn.LayerNorm(hidden)
        self.fc = nn.Linear(hidden, gestures)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(self.norm(out[:, -1, :]))


def trajectories(n, steps=16, joints=6, gestures=5):
    label = torch.randint(0, gestures, (n,))
    t = torch.arange(steps).float()
    rate = 0.2 + 0.25 * label.float()
    phase = 6.28 * torch.rand(n, 1, joints)
    x = torch.sin(rate[:, None, None] * t[:, None] + phase)
    return x + 0.05 * torch.randn(n, steps, joints), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, label = trajectories(320)
    data = [(x[i:i + 40], label[i:i + 40]) for i in range(0, 320, 40)]
    model = GestureNet(batch_first=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        clip, gesture = batch
        return F.cross_entropy(model(clip), gesture)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
