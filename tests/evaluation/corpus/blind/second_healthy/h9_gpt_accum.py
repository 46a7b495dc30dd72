import math
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_gpt_accum", "source": "nanoGPT fork", "roots": [], "checks": [],
        "description": "healthy character GPT: tied embedding, causal SDPA, rotary positions, accumulates 2 micro-batches, warm-up from 0",
        "location": ""}


class Layer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.fc, self.out = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

    def forward(self, x, rope):
        B, T, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        cos, sin = rope
        rot = lambda u: torch.cat([u[..., ::2] * cos - u[..., 1::2] * sin, u[..., ::2] * sin + u[..., 1::2] * cos], -1)
        a = F.scaled_dot_product_attention(rot(q), rot(k), v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, d))
        return x + self.out(F.relu(self.fc(self.n2(x))).square())


class GPT(nn.Module):
    def __init__(self, vocab, d=32, depth=2, heads=4, ctx=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList([Layer(d, heads) for _ in range(depth)])
        self.norm, self.head = nn.RMSNorm(d), nn.Linear(d, vocab, bias=False)
        f = 100 ** -(torch.arange(0, d // heads, 2) / (d // heads))
        ang = torch.arange(ctx)[:, None] * f
        self.register_buffer("cos", ang.cos()), self.register_buffer("sin", ang.sin())
        for n, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.05 / (math.sqrt(2 * depth) if n.endswith(("proj.weight", "out.weight")) else 1))
        self.head.weight = self.tok.weight

    def forward(self, idx):
        x = self.tok(idx)
        for l in self.layers:
            x = l(x, (self.cos[:idx.shape[1]], self.sin[:idx.shape[1]]))
        return self.head(self.norm(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    words = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "to", "big", "red", "house"]
    text = " ".join(words[int(i)] for i in (torch.rand(3000, generator=g) ** 1.5 * len(words)).long())
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    data = []
    for _ in range(24):
        s = torch.randint(0, len(ids) - 33, (16,), generator=g)
        data.append(torch.stack([ids[i:i + 33] for i in s]))
    model = GPT(len(chars))
    decay = [p for p in model.parameters() if p.ndim == 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": [p for p in model.parameters() if p.ndim < 2],
                             "weight_decay": 0.0}], lr=4e-3, betas=(0.9, 0.95))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(s / 5, 1.0) * max(0.1, 1 - s / 800))
    micro = [0]

    def step(chunk):
        loss = F.cross_entropy(model(chunk[:, :-1]).flatten(0, 1), chunk[:, 1:].flatten())
        (loss / 2).backward()
        micro[0] += 1
        if micro[0] % 2 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad(set_to_none=True)
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
