"""Tiny GPT on a character stream made by a small grammar."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_gpt_init",
    "source": "CASES.md D SO IPS_4 (std 1 init), ported to a GPT whose init std should be 0.02",
    "roots": ["bad-initialization"],
    "description": "linear and embedding weights drawn with standard deviation 1.0 instead of 0.02",
    "location": "TinyGPT._init_weights: std",
    "shows_in": "full-data",
}


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class TinyGPT(nn.Module):
    def __init__(self, vocab, block_size, dim=48, heads=4, depth=2, init_std=0.02):
        super().__init__()
        self.init_std = init_std
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(block_size, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, mean=0.0, std=self.init_std)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        for b in self.blocks:
            x = b(x)
        return self.lm_head(self.ln_f(x))


def make_text(n, vocab):
    nxt = torch.stack([torch.randperm(vocab) for _ in range(2)])
    seq = [0, 1]
    for _ in range(n - 2):
        seq.append(int(nxt[seq[-2] % 2, seq[-1]]) if torch.rand(()) > 0.03 else int(torch.randint(vocab, ())))
    return torch.tensor(seq)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, block = 32, 20
    text = make_text(8 * 12 * (block + 1), vocab).view(8, 12, block + 1)
    data = [(b[:, :-1], b[:, 1:]) for b in text]
    model = TinyGPT(vocab, block, init_std=0.02 if fixed else 1.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.01)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
