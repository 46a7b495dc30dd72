"""Tiny vision transformer that finds the quadrant of a bright blob."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_tiny_vit",
    "source": "hand-written weight-decay groups by name suffix; CASES.md I: ACEsuit/mace #525, zjunlp/HVPNeT #5",
    "roots": ["parameters-not-in-optimizer"],
    "checks": [],
    "description": "Only names ending in 'weight' or 'bias' are put into a group; cls_token, pos_embed and the layer scales are in none and stay at their initial value.",
    "location": "param_groups: elif name.endswith('bias')",
}


class Block(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 48), nn.GELU(), nn.Linear(48, dim))
        self.gamma1 = nn.Parameter(0.3 * torch.ones(dim))
        self.gamma2 = nn.Parameter(0.3 * torch.ones(dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.gamma1 * self.attn(h, h, h, need_weights=False)[0]
        return x + self.gamma2 * self.mlp(self.norm2(x))


class TinyViT(nn.Module):
    def __init__(self, dim=24, patch=3, size=12, classes=4):
        super().__init__()
        n = (size // patch) ** 2
        self.patch = nn.Conv2d(1, dim, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, n + 1, dim))
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        t = self.patch(x).flatten(2).transpose(1, 2)
        t = torch.cat([self.cls_token.expand(len(t), -1, -1), t], dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(t))[:, 0])


def param_groups(model, weight_decay, catch_all):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if name.endswith("weight") and p.dim() > 1:
            decay.append(p)
        elif name.endswith("bias") or name.endswith("weight") or catch_all:
            no_decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


def blobs(n, gen):
    x = 0.3 * torch.randn(n, 1, 12, 12, generator=gen)
    y = torch.randint(0, 4, (n,), generator=gen)
    for i in range(n):
        r = int(torch.randint(0, 4, (1,), generator=gen)) + 6 * int(y[i] // 2)
        c = int(torch.randint(0, 4, (1,), generator=gen)) + 6 * int(y[i] % 2)
        x[i, 0, r:r + 2, c:c + 2] += 2.0
    return x, y


def loss_fn(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [blobs(32, gen) for _ in range(8)]
    model = TinyViT()
    optimizer = torch.optim.AdamW(param_groups(model, 0.05, catch_all=fixed), lr=3e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
