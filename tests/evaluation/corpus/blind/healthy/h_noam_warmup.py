"""Post-norm transformer with the Noam schedule."""
import math

import torch
import torch.nn as nn

META = {
    "id": "h_noam_warmup",
    "description": "LR starts at almost nothing, rises for 60 steps and then falls with the inverse square root; scheduler stepped before the optimizer's rate is used, as in the paper's code.",
    "roots": [],
}


class Tagger(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        pos = torch.arange(16)[:, None] / torch.pow(10000, torch.arange(0, dim, 2) / dim)
        self.register_buffer("pe", torch.cat([pos.sin(), pos.cos()], 1))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(dim, 3)

    def forward(self, ids):
        x = self.emb(ids) * math.sqrt(self.emb.embedding_dim) + self.pe[:ids.shape[1]]
        return self.out(self.enc(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        ids = torch.randint(0, 24, (16, 10))
        data.append((ids, (ids + ids.roll(1, 1)) % 3))
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    state = {"n": 0}

    def rate(n, warmup=60):
        return 0.15 * 32 ** -0.5 * min(n ** -0.5, n * warmup ** -1.5)

    def step(batch):
        ids, tags = batch
        state["n"] += 1
        for g in optimizer.param_groups:
            g["lr"] = rate(state["n"])
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
