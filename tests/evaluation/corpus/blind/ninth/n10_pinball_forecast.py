import torch
import torch.nn as nn

META = {"id": "n10_pinball_forecast",
        "source": "quantile forecasting notebooks with a self-written pinball loss (no broadcasting warning)",
        "roots": ["target-shape-mismatch"], "checks": [],
        "description": "Forecasts of shape (N, 1) minus targets of shape (N,) broadcast to (N, N); the model only learns the quantile of the whole batch.",
        "location": "Forecaster.forward (missing squeeze) / pinball"}


def pinball(pred, target, q):
    diff = target - pred
    return torch.maximum(q * diff, (q - 1) * diff).mean()


class Forecaster(nn.Module):
    def __init__(self, window, horizon=1, squeeze=False):
        super().__init__()
        self.season = nn.Conv1d(1, 16, 5, padding=2)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * window, 48), nn.ReLU(), nn.Linear(48, horizon))
        self.squeeze = squeeze

    def forward(self, history):
        out = self.head(torch.relu(self.season(history.unsqueeze(1))))
        return out.squeeze(-1) if self.squeeze else out


def windows(g, n, length):
    f = 0.2 + 0.5 * torch.rand(n, 1, generator=g)
    ph = 6.28 * torch.rand(n, 1, generator=g)
    s = torch.sin(f * torch.arange(length + 1.0) + ph) + 0.1 * torch.randn(n, length + 1, generator=g)
    return s[:, :-1], s[:, -1]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 19)
    data = [windows(g, 32, 16) for _ in range(20)]
    val = [windows(g, 32, 16) for _ in range(4)]
    model = Forecaster(16, squeeze=fixed)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        past, future = batch
        return pinball(model(past), future, 0.5)

    return {"model": model, "optimizer": opt, "data": data, "val": val, "loss": loss}
