"""Support-ticket routing with a Perceiver-style classifier over padded token sequences."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_perceiver_mask",
    "source": "InseeFrLab/torchTextClassifiers PR 92 (attention mask inverted)",
    "roots": ["ignores-input"],
    "description": "the padding mask is inverted: the latents attend to padding only and never see a real token",
    "location": "TicketRouter.forward: key_padding_mask",
    "shows_in": "one-batch",
}

PAD, VOCAB, MAXLEN = 0, 120, 20


class TicketRouter(nn.Module):
    def __init__(self, n_classes=6, d=32, n_latents=4, hf_mask=True):
        super().__init__()
        self.hf_mask = hf_mask
        self.tok = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.latents = nn.Parameter(torch.randn(n_latents, d) * 0.5)
        self.cross = nn.MultiheadAttention(d, 4, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))
        self.norm = nn.LayerNorm(d)
        self.cls = nn.Linear(n_latents * d, n_classes)

    def forward(self, ids):
        x = self.tok(ids)
        attention_mask = ids != PAD
        mask = attention_mask if self.hf_mask else ~attention_mask
        q = self.latents.expand(ids.size(0), -1, -1)
        h, _ = self.cross(q, x, x, key_padding_mask=mask, need_weights=False)
        h = q + h
        h = self.norm(h + self.ff(h))
        return self.cls(h.flatten(1))


def tickets(n, g):
    y = torch.randint(0, 6, (n,), generator=g)
    ids = torch.randint(7, VOCAB, (n, MAXLEN), generator=g)
    keyword = 10 + y.unsqueeze(1) * 15 + torch.randint(0, 15, (n, MAXLEN), generator=g)
    use = torch.rand(n, MAXLEN, generator=g) < 0.5
    ids = torch.where(use, keyword, ids)
    length = torch.randint(8, MAXLEN - 1, (n, 1), generator=g)
    ids[torch.arange(MAXLEN) >= length] = PAD
    return ids, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    ids, y = tickets(8 * 32, g)
    data = list(zip(ids.split(32), y.split(32)))
    model = TicketRouter(hf_mask=not fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        tokens, queue = batch
        return F.cross_entropy(model(tokens), queue)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
