"""Masked-token modelling with a bidirectional GRU and dynamic masking."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_mlm_mask",
    "source": "own experience (dynamic masking written into the cached token tensor)",
    "roots": ["in-place-modification"],
    "description": "the mask token is written into the stored ids, so the sentences fill up with mask tokens over the steps",
    "location": "mask_tokens(): ids[chosen] = MASK",
    "shows_in": "one-batch",
}

MASK, VOCAB, LENGTH = 0, 25, 12


class MaskedLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, VOCAB)

    def forward(self, ids):
        h, _ = self.gru(self.tok(ids))
        return self.out(h)


def sentences(n):
    start, stride = torch.randint(0, 24, (n, 1)), 2 * torch.randint(0, 2, (n, 1)) - 1
    return (start + stride * torch.arange(LENGTH)) % 24 + 1


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ids = sentences(160)
    data = [{"input_ids": b.clone(), "labels": b.clone()} for b in ids.split(20)]
    model = MaskedLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    g = torch.Generator().manual_seed(seed)

    def mask_tokens(ids):
        if fixed:
            ids = ids.clone()
        chosen = torch.rand(ids.shape, generator=g) < 0.12
        chosen[:, 5] = True
        ids[chosen] = MASK
        return ids, chosen

    def step(batch):
        masked, chosen = mask_tokens(batch["input_ids"])
        logits = model(masked)
        loss = F.cross_entropy(logits[chosen], batch["labels"][chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
