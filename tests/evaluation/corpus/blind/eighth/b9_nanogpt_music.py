"""Decoder-only model over melody tokens (nanoGPT style)."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F

META = {"id": "b9_nanogpt_music", "source": "nanoGPT derivatives with a hand-made causal mask",
        "roots": ["target-leakage"], "checks": [],
        "description": "the causal mask allows one position too many, so that each position sees the very token it has to predict",
        "location": "CausalSelfAttention.__init__"}


@dataclass
class GPTConfig:
    block_size: int = 24
    vocab_size: int = 32
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 48
    fixed: bool = False


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head = config.n_head
        ones = torch.ones(config.block_size, config.block_size)
        bias = torch.tril(ones) if config.fixed else torch.tril(ones, diagonal=1)
        self.register_buffer("bias", bias.view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        k, q, v = (z.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for z in (k, q, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(),
                                 nn.Linear(4 * config.n_embd, config.n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))
        return logits, loss


def melodies(n, length, seed, vocab=32):
    g = torch.Generator().manual_seed(seed + 88)
    moves = torch.tensor([0, 1, 2, -1, -2, 4, -3, 7])
    p = torch.tensor([.05, .3, .2, .2, .1, .05, .05, .05])
    steps = moves[torch.multinomial(p, n * length, True, generator=g)].view(n, length)
    return (steps.cumsum(1) + torch.randint(0, vocab, (n, 1), generator=g)) % vocab


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    config = GPTConfig(fixed=fixed)
    model = GPT(config)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                                  lr=2e-3, betas=(0.9, 0.95))
    tokens = melodies(384, config.block_size + 1, seed)
    data = [(t[:, :-1].contiguous(), t[:, 1:].contiguous()) for t in tokens.split(24)]

    def step(batch):
        _, loss = model(*batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
