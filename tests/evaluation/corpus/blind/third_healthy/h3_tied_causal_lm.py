import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_tied_causal_lm", "source": "healthy; nanoGPT-like model",
        "roots": [], "checks": [], "description": "two-block causal transformer with tied embedding and head on sequences of a stochastic automaton", "location": ""}


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (t.view(B, T, self.h, -1).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, D))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab=20, T=24, d=48):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(T, d)
        self.blocks = nn.ModuleList(Block(d, 4) for _ in range(2))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.05)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for b in self.blocks:
            x = b(x)
        return self.lm_head(self.ln_f(x))


def automaton(n, T, g):
    nxt = torch.randint(0, 20, (20, 3), generator=g)
    rows = torch.empty(n, T, dtype=torch.long)
    s = torch.randint(0, 20, (n,), generator=g)
    for t in range(T):
        rows[:, t] = s
        s = nxt[s, torch.multinomial(torch.tensor([0.75, 0.2, 0.05]), n, replacement=True, generator=g)]
    return rows


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    data = list(automaton(24 * 24, 25, g).split(24))
    model = GPT()
    dec = [p for p in model.parameters() if p.dim() >= 2]
    opt = torch.optim.AdamW([{"params": dec, "weight_decay": 0.05},
                             {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}], lr=4e-3, betas=(0.9, 0.95))
    return {"model": model, "optimizer": opt, "data": data,
            "loss": lambda m, ids: F.cross_entropy(m(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())}
