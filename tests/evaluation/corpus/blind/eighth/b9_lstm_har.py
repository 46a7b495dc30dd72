"""Activity recognition from accelerometer windows."""
import torch
from torch import nn

META = {"id": "b9_lstm_har", "source": "training loops that keep a running loss tensor for logging (PyTorch FAQ, forum)",
        "roots": ["memory-growth"], "checks": [],
        "description": "the running average of the loss is updated with the loss tensor itself, and so keeps every graph since the first step",
        "location": "Meter.update"}


class Meter:
    def __init__(self, beta=0.95, fixed=False):
        self.beta, self.avg, self.fixed = beta, None, fixed

    def update(self, value):
        if self.fixed:
            value = value.detach()
        self.avg = value if self.avg is None else self.beta * self.avg + (1 - self.beta) * value

    def __str__(self):
        return f"{float(self.avg):.4f}"


class HARModel(nn.Module):
    def __init__(self, channels=6, hidden=40, classes=5):
        super().__init__()
        self.conv = nn.Conv1d(channels, 24, 5, padding=2)
        self.lstm = nn.LSTM(24, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        x = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        out, _ = self.lstm(x)
        return self.fc(out.mean(1))


def recordings(n, seed, length=32, classes=5):
    g = torch.Generator().manual_seed(seed + 61)
    y = torch.randint(0, classes, (n,), generator=g)
    t = torch.arange(length).float()
    freq = (0.15 + 0.12 * y.float())[:, None, None]
    phase = 6.28 * torch.rand(n, 1, 6, generator=g)
    amp = 0.5 + torch.rand(n, 1, 6, generator=g)
    return amp * torch.sin(freq * t[None, :, None] + phase) + 0.3 * torch.randn(n, length, 6, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = HARModel()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    meter = Meter(fixed=fixed)
    log = []
    x, y = recordings(640, seed)
    data = [(x[i:i + 32], y[i:i + 32]) for i in range(0, 640, 32)]
    state = {"it": 0}

    def step(batch):
        inputs, labels = batch
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        meter.update(loss)
        state["it"] += 1
        if state["it"] % 50 == 0:
            log.append(f"[{state['it']:5d}] loss {meter}")
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
