"""Battery life from a voltage curve: a conv net with layer norm over the channels."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_lnorm1",
    "source": "own experience (LayerNorm over a dimension of size one)",
    "roots": ["ignores-input"],
    "description": "the input goes through LayerNorm(1) over its single channel, which turns every value into the bias: nothing of the curve is left",
    "location": "in_norm (nn.LayerNorm(1))",
    "shows_in": "one-batch",
}
LENGTH = 32


class BatteryNet(nn.Module):
    def __init__(self, channels=16, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.in_norm = nn.LayerNorm(LENGTH if fixed else 1)
        self.conv1 = nn.Conv1d(1, channels, 5, padding=2)
        self.conv2 = nn.Conv1d(channels, channels, 5, padding=2)
        self.head = nn.Sequential(nn.Linear(channels * LENGTH // 4, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, curve):
        if self.fixed:
            x = self.in_norm(curve.squeeze(-1)).unsqueeze(1)
        else:
            x = self.in_norm(curve).transpose(1, 2)
        x = F.max_pool1d(F.relu(self.conv1(x)), 2)
        x = F.max_pool1d(F.relu(self.conv2(x)), 2)
        return self.head(x.flatten(1)).squeeze(-1)


def make_data(n_batches=8, batch_size=32):
    t = torch.linspace(0, 1, LENGTH)
    data = []
    for _ in range(n_batches):
        knee = torch.rand(batch_size, 1) * 0.6 + 0.2
        drop = torch.rand(batch_size, 1) * 2 + 1
        curve = 4.0 - 0.2 * t - drop * torch.relu(t - knee) + 0.01 * torch.randn(batch_size, LENGTH)
        life = ((knee - 0.5) * 4).squeeze(1)
        data.append((curve.unsqueeze(-1), life))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = BatteryNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        curve, life = batch
        return F.mse_loss(model(curve), life)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
