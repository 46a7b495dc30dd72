"""Character-level GPT with input and output embeddings meant to be shared."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_gpt_tie",
    "source": "own experience; cf. CASES.md 34900246 (incorrect state sharing)",
    "roots": ["tied-weights-broken"],
    "description": "tie_weights copies the embedding into a new Parameter, so head and embedding drift apart",
    "location": "CharGPT.tie_weights (head.weight, tok.weight)",
    "shows_in": "wiring",
}


class CharGPT(nn.Module):
    def __init__(self, vocab=30, dim=32, context=16, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(context, dim)
        make = lambda: nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.ModuleList(make() for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        nn.init.normal_(self.tok.weight, std=0.1)
        nn.init.normal_(self.pos.weight, std=0.1)

    def tie_weights(self, share):
        if share:
            self.head.weight = self.tok.weight
        else:
            self.head.weight = nn.Parameter(self.tok.weight.clone())

    def forward(self, ids):
        t = ids.size(1)
        mask = torch.full((t, t), float("-inf")).triu(1)
        h = self.tok(ids) + self.pos.weight[:t]
        for block in self.blocks:
            h = block(h, src_mask=mask)
        return self.head(self.norm(h))


def text(n, vocab=30, length=13):
    follow = torch.stack([torch.randperm(vocab) for _ in range(2)])
    ids = torch.randint(0, vocab, (n, 2))
    for _ in range(length - 2):
        nxt = follow[ids[:, -2] % 2, ids[:, -1]]
        ids = torch.cat([ids, nxt[:, None]], 1)
    return ids


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = list(text(96).split(12))
    model = CharGPT()
    model.tie_weights(share=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)

    def loss(model, ids):
        logits = model(ids[:, :-1])
        return F.cross_entropy(logits[:, 1:].flatten(0, 1), ids[:, 2:].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
