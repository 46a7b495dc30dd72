"""Attention pooling over the frames of a clip, hand-written."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_attn_dim0",
    "source": "gjylt/DoubleAttentionNet #3 (softmax over the wrong dimension)",
    "roots": ["batch-mixing"],
    "description": "the attention weights are normalised over dim 0, the batch, instead of over the frames",
    "location": "AttentionPool.forward, softmax(dim=0)",
    "shows_in": "wiring",
}


class AttentionPool(nn.Module):
    def __init__(self, dim, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.score = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, h):
        score = self.score(h).squeeze(-1)
        weight = torch.softmax(score, dim=1 if self.fixed else 0)
        return (weight.unsqueeze(-1) * h).sum(1)


class ClipNet(nn.Module):
    def __init__(self, n_in=12, dim=48, n_classes=5, fixed=False):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.pool = AttentionPool(dim, fixed)
        self.fc = nn.Linear(dim, n_classes)

    def forward(self, clip):
        return self.fc(self.pool(self.frame(clip)))


def make_data(n_batches=8, batch_size=24, frames=12):
    signs = 1.5 * torch.randn(5, 12)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        clip = torch.randn(batch_size, frames, 12)
        at = torch.randint(0, frames, (batch_size,))
        clip[torch.arange(batch_size), at] = signs[y] + 0.3 * torch.randn(batch_size, 12)
        data.append((clip, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = ClipNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        clip, y = batch
        return F.cross_entropy(model(clip), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
