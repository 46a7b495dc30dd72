"""Character-level mini GPT with shared input and output embedding."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_minigpt_tied_copy",
    "source": "own experience; CASES.md: taxonomy 34900246 (incorrect state sharing) is related",
    "roots": ["tied-weights-broken"],
    "description": "the output head is meant to share the token embedding but gets a copy wrapped in a new Parameter",
    "location": "MiniGPT.tie_weights (lm_head.weight)",
    "shows_in": "wiring",
}

VOCAB, CTX = 40, 16


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d))
        self.heads = heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class MiniGPT(nn.Module):
    def __init__(self, d=32, share=False):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, d)
        self.wpe = nn.Embedding(CTX, d)
        self.blocks = nn.ModuleList([Block(d, 4) for _ in range(2)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, VOCAB, bias=False)
        nn.init.normal_(self.wte.weight, std=0.1)
        self.tie_weights(share)

    def tie_weights(self, share):
        if share:
            self.lm_head.weight = self.wte.weight
        else:
            self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())

    def forward(self, idx):
        x = self.wte(idx) + self.wpe.weight[:idx.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def phrases(n, g):
    start = torch.randint(0, VOCAB, (n, 1), generator=g)
    stride = torch.randint(1, 6, (n, 1), generator=g)
    seq = (start + stride * torch.arange(CTX + 1)) % VOCAB
    return seq


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = list(phrases(8 * 16, g).split(16))
    model = MiniGPT(share=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model, seq):
        logits = model(seq[:, :-1])
        return F.cross_entropy(logits[:, 1:].reshape(-1, VOCAB), seq[:, 2:].reshape(-1))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
