import random

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "w10_arith_char_lm",
        "source": "character-level language models on sums (minGPT adder demo)",
        "roots": [],
        "checks": [],
        "description": "Healthy: strings like '3+4=07;' are modelled token by token; the operands are unpredictable, so the loss ends at a high floor, and the next token is in the shifted input by design.",
        "location": ""}

CHARS = "0123456789+=;."
STOI = {c: i for i, c in enumerate(CHARS)}


def corpus(n, rnd, terms=2):
    rows = []
    for _ in range(n):
        text = ""
        for _ in range(terms):
            a, b = rnd.randrange(10), rnd.randrange(10)
            text += f"{a}+{b}={a + b:02d};"
        rows.append([STOI[c] for c in text])
    return torch.tensor(rows)


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(y)
        return x + self.ff(self.ln2(x))


class AdderGPT(nn.Module):
    def __init__(self, t, d=48):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(CHARS), d), nn.Parameter(torch.zeros(t, d))
        self.blocks = nn.Sequential(Block(d, 4), Block(d, 4))
        self.ln, self.head = nn.LayerNorm(d), nn.Linear(d, len(CHARS), bias=False)

    def forward(self, idx):
        return self.head(self.ln(self.blocks(self.tok(idx) + self.pos[:idx.shape[1]])))


def lm_loss(model, batch):
    return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed + 408)
    seen, uniq = set(), []
    for row in corpus(2200, rnd).tolist():
        if tuple(row) not in seen:
            seen.add(tuple(row))
            uniq.append(row)
    toks = torch.tensor(uniq)
    model = AdderGPT(toks.shape[1] - 1)
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01),
            "data": list(toks[:1600].split(32)), "val": list(toks[1600:1792].split(64)), "loss": lm_loss}
