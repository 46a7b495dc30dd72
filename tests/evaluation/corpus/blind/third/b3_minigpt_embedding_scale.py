"""Mini-GPT on byte-like text with tied input and output embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_minigpt_embedding_scale",
    "source": "own experience (tied embedding left at N(0,1)); CASES.md A fla-org PR 739 kind",
    "roots": ["bad-initialization"],
    "description": "the tied token embedding is drawn with standard deviation 4: first logits in the hundreds, loss far above log(vocab)",
    "location": "MiniGPT._init: tok.weight std",
    "shows_in": "one-batch",
}

VOCAB, LENGTH = 48, 20


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class MiniGPT(nn.Module):
    def __init__(self, embed_std, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(LENGTH, dim)
        self.blocks = nn.ModuleList([Block(dim, 4) for _ in range(2)])
        self.ln = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)
        self.lm_head.weight = self.tok.weight
        self._init(embed_std)

    def _init(self, std):
        nn.init.normal_(self.tok.weight, std=std)
        nn.init.normal_(self.pos.weight, std=0.02)

    def forward(self, idx):
        t = idx.shape[1]
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        x = self.tok(idx) + self.pos(torch.arange(t))
        for block in self.blocks:
            x = block(x, mask)
        return self.lm_head(self.ln(x))


def make_data(g, n_batches=8, batch=16):
    follow = torch.stack([torch.randperm(VOCAB, generator=g) for _ in range(2)])
    data = []
    for _ in range(n_batches):
        seq = torch.zeros(batch, LENGTH + 1, dtype=torch.long)
        seq[:, 0] = torch.randint(0, VOCAB, (batch,), generator=g)
        for t in range(1, LENGTH + 1):
            seq[:, t] = follow[t % 2][seq[:, t - 1]]
        data.append(seq)
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 9)
    data = make_data(g)
    model = MiniGPT(embed_std=0.02 if fixed else 4.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(model, batch):
        logits = model(batch[:, :-1])
        return F.cross_entropy(logits.reshape(-1, VOCAB), batch[:, 1:].reshape(-1))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
