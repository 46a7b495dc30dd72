"""Transformer regression of battery capacity with a warm-up schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

META = {
    "id": "b1_warmup_lambda",
    "source": "PyTorch forum classic: LambdaLR wants a factor, the function returns a learning rate",
    "roots": ["scheduler-misuse", "lr-too-low"],
    "description": "the LambdaLR function returns the learning rate itself, so the rate in use is its square",
    "location": "warmup(it): returns base_lr * ...",
    "shows_in": "one-batch",
}


class BatteryModel(nn.Module):
    def __init__(self, n_sensors, length, dim=32):
        super().__init__()
        self.proj = nn.Linear(n_sensors, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.encoder(self.proj(x) + self.pos)
        return self.head(h.mean(dim=1)).squeeze(-1)


def make_cycles(n, length=12, n_sensors=3):
    health = torch.rand(n, 1)
    t = torch.linspace(0, 1, length)
    temp = torch.randn(n, 1)
    voltage = 1.5 * (1 - t) ** (0.5 + health) + 0.1 * temp
    current = torch.sin(3 * t + health * 2)
    heat = temp + t * (1 - health)
    x = torch.stack([voltage, current, heat], dim=-1) + 0.02 * torch.randn(n, length, n_sensors)
    x = (x - x.mean((0, 1))) / x.std((0, 1))
    y = (2 * health + 0.3 * temp * health).squeeze(1)
    return x, (y - y.mean()) / y.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs, base_lr, warmup_steps = 32, 2e-3, 20
    x, y = make_cycles(8 * bs)
    data = [{"cycle": a, "capacity": b} for a, b in zip(x.split(bs), y.split(bs))]
    model = BatteryModel(x.shape[-1], x.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=base_lr)

    def warmup(it):
        factor = min(1.0, (it + 1) / warmup_steps)
        return factor if fixed else base_lr * factor

    scheduler = LambdaLR(optimizer, lr_lambda=warmup)

    def step(batch):
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch["cycle"]), batch["capacity"])
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
