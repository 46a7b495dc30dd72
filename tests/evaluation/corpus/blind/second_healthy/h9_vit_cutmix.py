"""Tiny ViT on synthetic glyphs: cutmix, label smoothing, stochastic depth, warm-up + cosine per step."""
import math
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_vit_cutmix", "source": "vision research repository", "roots": [], "checks": [],
        "description": "healthy small ViT recipe", "location": ""}


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        return x * x.new_empty(x.size(0), 1, 1).bernoulli_(keep) / keep


class Block(nn.Module):
    def __init__(self, d, dp):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.dp = DropPath(dp)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.dp(self.attn(h, h, h, need_weights=False)[0])
        return x + self.dp(self.mlp(self.n2(x)))


class ViT(nn.Module):
    def __init__(self, classes=4, d=48, depth=3):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 17, d) * 0.02)
        self.blocks = nn.Sequential(*[Block(d, 0.05 * i / (depth - 1)) for i in range(depth)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.blocks(x))[:, 0])


def glyphs(n, g):
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.3 * torch.randn(n, 3, 16, 16, generator=g)
    ii = torch.arange(16)
    masks = torch.stack([(ii[:, None] % 4 < 2).expand(16, 16), (ii[None] % 4 < 2).expand(16, 16),
                         (ii[:, None] + ii[None]) % 8 < 4, (ii[:, None] - ii[None]) % 8 < 4]).float()
    x += (masks[y] * 2 - 1)[:, None] * torch.tensor([1.0, 0.6, -0.8])[None, :, None, None]
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    data = [glyphs(32, g) for _ in range(12)]
    model = ViT()
    decay = [p for n, p in model.named_parameters() if p.ndim >= 2 and n not in ("cls", "pos")]
    rest = [p for n, p in model.named_parameters() if p.ndim < 2 or n in ("cls", "pos")]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
    total, warm = 600, 10
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: s / warm if s < warm else
                                              0.5 * (1 + math.cos(math.pi * min(1, (s - warm) / (total - warm)))) + 1e-2)
    crit = nn.CrossEntropyLoss(label_smoothing=0.05)

    def step(batch):
        x, y = batch
        model.train()
        perm, lam = torch.randperm(len(x)), 1.0
        if torch.rand(()) < 0.3:
            w = int(torch.randint(2, 6, ()))
            a, b = torch.randint(0, 16 - w, (2,)).tolist()
            x = x.clone()
            x[:, :, a:a + w, b:b + w] = batch[0][perm][:, :, a:a + w, b:b + w]
            lam = 1 - w * w / 256
        out = model(x)
        loss = lam * crit(out, y) + (1 - lam) * crit(out, y[perm])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": data, "step": step, "scheduler": sched}
