"""Time series forecaster with a GradScaler in the loop (float32 on CPU)."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_scaler_nostep",
    "source": "stackoverflow 53332663 (missing API call), in an AMP loop",
    "roots": ["missing-optimizer-step"],
    "description": "gradients are scaled, unscaled and clipped, and the scaler updated, but scaler.step(optimizer) is missing",
    "location": "training step, between clip_grad_norm_ and scaler.update",
    "shows_in": "one-batch",
}


class Forecaster(nn.Module):
    def __init__(self, window=24, horizon=6, channels=16):
        super().__init__()
        self.tcn = nn.Sequential(
            nn.Conv1d(1, channels, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv1d(channels, channels, 3, padding=4, dilation=4), nn.ReLU(),
        )
        self.head = nn.Linear(channels * window, horizon)

    def forward(self, x):
        return self.head(self.tcn(x.unsqueeze(1)).flatten(1))


def make_data(n_batches=8, batch_size=32, window=24, horizon=6):
    t = torch.arange(window + horizon).float()
    data = []
    for _ in range(n_batches):
        freq = torch.rand(batch_size, 1) * 0.4 + 0.2
        phase = torch.rand(batch_size, 1) * 6.28
        slope = torch.randn(batch_size, 1) * 0.02
        series = torch.sin(freq * t + phase) + slope * t + 0.03 * torch.randn(batch_size, window + horizon)
        data.append((series[:, :window], series[:, window:]))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(batch):
        past, future = batch
        optimizer.zero_grad()
        loss = F.mse_loss(model(past), future)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if fixed:
            scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
