import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_rope_events", "source": "transformers/GPT-NeoX/Llama issues on rotary position ids computed in bf16",
        "roots": ["precision-mismatch"], "checks": ["keeps_precision"],
        "description": "the positions of the rotary embedding are made in the dtype of the queries: bfloat16 cannot tell positions above 256 apart",
        "location": "Rotary.forward"}


class Rotary(nn.Module):
    def __init__(self, dim, base=100.0, fixed=False):
        super().__init__()
        self.dim, self.base, self.fixed = dim, base, fixed

    def forward(self, x, offset):
        dtype = torch.float32 if self.fixed else x.dtype
        t = torch.arange(x.size(1), dtype=torch.float32).add(offset).to(dtype)
        inv = (1.0 / self.base ** (torch.arange(0, self.dim, 2, dtype=torch.float32) / self.dim)).to(dtype)
        ang = t[:, None] * inv[None]
        return ang.cos().to(x.dtype), ang.sin().to(x.dtype)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class EventModel(nn.Module):
    """Each event has to find the event that happened a given number of ticks earlier."""

    def __init__(self, kinds=12, d=32, fixed=False):
        super().__init__()
        self.emb = nn.Embedding(kinds, d)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.rotary = Rotary(d, fixed=fixed)
        self.mlp = nn.Sequential(nn.Linear(2 * d, 64), nn.GELU(), nn.Linear(64, kinds))
        self.d = d

    def forward(self, ids, offset=700.0):
        x = self.emb(ids)
        q, k, v = self.q(x), self.k(x), self.v(x)
        cos, sin = self.rotary(q, offset)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        att = (q @ k.transpose(1, 2)) / math.sqrt(self.d)
        t = ids.size(1)
        att = att.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        out = att.softmax(-1) @ v
        return self.mlp(torch.cat([x.to(out.dtype), out], -1))


def event_streams(n, seed, length=24, kinds=12, lag=3):
    g = torch.Generator().manual_seed(seed + 44)
    ids = torch.randint(0, kinds, (n, length), generator=g)
    target = (ids + torch.roll(ids, lag, 1)) % kinds
    return ids, target, lag


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = EventModel(fixed=fixed)
    with torch.no_grad():
        model.q.bias.normal_(std=1.0)
        model.k.bias.copy_(model.q.bias)
    ids, target, lag = event_streams(256, seed)
    data = list(zip(ids.split(16), target.split(16)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss_fn(model, batch):
        ids, target = batch
        logits = model(ids)[:, lag:].float()
        return F.cross_entropy(logits.flatten(0, 1), target[:, lag:].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
