"""Residual MLP on tabular sensor readings: which of five machine states."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_mlpstack",
    "source": "pytorch/pytorch #715, #666 (modules in a Python list)",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the residual blocks are kept in a plain Python list, so model.parameters() misses them and they are never trained",
    "location": "SensorNet.blocks",
    "shows_in": "wiring",
}


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(self.norm(x))))


class SensorNet(nn.Module):
    def __init__(self, n_in, n_classes, dim=48, depth=4, fixed=False):
        super().__init__()
        self.stem = nn.Linear(n_in, dim)
        blocks = [Block(dim) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks) if fixed else blocks
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_data(n_batches=8, batch_size=32):
    centers = torch.randn(5, 20)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        x = centers[y] * torch.randn(batch_size, 1).sign() + 0.6 * torch.randn(batch_size, 20)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = SensorNet(20, 5, fixed=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
