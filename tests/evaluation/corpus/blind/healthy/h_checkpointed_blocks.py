"""Deep residual MLP with gradient checkpointing."""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

META = {
    "id": "h_checkpointed_blocks",
    "description": 'Each block is recomputed in backward (use_reentrant=False); residual branches start scaled by a zero-initialised gate (ReZero).',
    "roots": [],
}


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gate * self.f(x)


class Deep(nn.Module):
    def __init__(self, depth=6, dim=32):
        super().__init__()
        self.inp = nn.Linear(8, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        return self.out(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        x = torch.randn(32, 8)
        y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.3).long()
        data.append((x, y))
    model = Deep()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
