import torch
from torch import nn

META = {"id": "t9_wrist_gestures", "source": "wearable gesture recognition, training loss above validation loss", "roots": [],
        "checks": ["generalizes"], "description": "healthy: dropout keeps the training loss above the validation loss", "location": ""}

GESTURES, T, CH = 6, 30, 3


def wear(n, g):
    y = torch.randint(0, GESTURES, (n,), generator=g)
    t = torch.linspace(0, 6.2832, T)
    base = torch.Generator().manual_seed(4)
    freq = 1 + 2 * torch.rand(GESTURES, CH, generator=base)
    phase = 6.2832 * torch.rand(GESTURES, CH, generator=base)
    speed = 1 + 0.08 * torch.randn(n, 1, 1, generator=g)
    x = torch.sin(freq[y][:, None] * speed * t[None, :, None] + phase[y][:, None])
    return x + 0.9 * torch.randn(n, T, CH, generator=g), y


class GestureLSTM(nn.Module):
    def __init__(self, hidden=64, p=0.5):
        super().__init__()
        self.lstm = nn.LSTM(CH, hidden, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(hidden, GESTURES)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(self.drop(self.norm(out.mean(dim=1))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 12)
    x, y = wear(2560, g)
    xv, yv = wear(256, g)
    model = GestureLSTM()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def compute(model, batch):
        signal, gesture = batch
        return nn.functional.cross_entropy(model(signal), gesture)

    return {"model": model, "optimizer": optimizer, "loss": compute,
            "data": list(zip(x.split(32), y.split(32))), "val": list(zip(xv.split(32), yv.split(32)))}
