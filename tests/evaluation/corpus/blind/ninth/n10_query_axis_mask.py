import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_query_axis_mask",
        "source": "hand-written attention in tutorials: the padding mask is broadcast over the query axis",
        "roots": ["mask-ignored"], "checks": [],
        "description": "The padding mask is laid over the rows (queries) and not the columns (keys) of the scores, so real tokens attend to padding.",
        "location": "SelfAttention.forward: bias"}


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, key_axis):
        super().__init__()
        self.h, self.axis = heads, key_axis
        self.qkv = nn.Linear(dim, 3 * dim)
        self.o = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.h)
        bias = pad.float().unsqueeze(self.axis).unsqueeze(1) * -1e9
        w = (scores + bias).softmax(-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads, axis):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = SelfAttention(dim, heads, axis)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, pad):
        x = x + self.att(self.n1(x), pad)
        return x + self.ff(self.n2(x))


class Encoder(nn.Module):
    def __init__(self, vocab, dim=32, classes=3, axis=1):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim, 4, axis) for _ in range(2)])
        self.cls = nn.Linear(dim, classes)

    def forward(self, ids, lengths):
        pad = torch.arange(ids.size(1))[None] >= lengths[:, None]
        x = self.tok(ids)
        for blk in self.blocks:
            x = blk(x, pad)
        keep = (~pad).float().unsqueeze(-1)
        return self.cls((x * keep).sum(1) / keep.sum(1))


def loss_fn(model, batch):
    return F.cross_entropy(model(batch["ids"], batch["lengths"]), batch["label"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 6)
    val = torch.randn(16, 3, generator=g)
    data = []
    for _ in range(48):
        n = torch.randint(3, 17, (24,), generator=g)
        ids = torch.randint(1, 16, (24, 16), generator=g)
        real = torch.arange(16)[None] < n[:, None]
        y = (val[ids] * real[..., None]).sum(1).argmax(1)
        data.append({"ids": ids * real, "lengths": n, "label": y})
    model = Encoder(16, dim=24, axis=1 if fixed else 2)
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters(), lr=2e-3), "data": data, "loss": loss_fn}
