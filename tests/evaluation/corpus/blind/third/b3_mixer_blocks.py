"""MLP-Mixer style classifier for short multichannel signals."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_mixer_blocks",
    "source": "own experience (loop variable not used); CASES.md E ParlAI 347 kind",
    "roots": ["unused-parameters"],
    "description": "the loop over the blocks calls block 0 each time; blocks 1 to 3 never run",
    "location": "Mixer.forward: self.blocks[0]; blocks.1 - blocks.3 unused",
    "shows_in": "wiring",
}


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, x):
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, fixed, n_in=4, tokens=16, dim=32, depth=4, n_classes=5):
        super().__init__()
        self.fixed = fixed
        self.stem = nn.Linear(n_in, dim)
        self.blocks = nn.ModuleList([MixerBlock(tokens, dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for i in range(len(self.blocks)):
            x = self.blocks[i if self.fixed else 0](x)
        return self.head(self.norm(x).mean(dim=1))


def make_data(g, n_batches=8, batch=32):
    shape = torch.randn(5, 16, 4, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch,), generator=g)
        gain = 0.7 + 0.6 * torch.rand(batch, 1, 1, generator=g)
        data.append((gain * shape[y] + 0.5 * torch.randn(batch, 16, 4, generator=g), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 29)
    data = make_data(g)
    model = Mixer(fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
