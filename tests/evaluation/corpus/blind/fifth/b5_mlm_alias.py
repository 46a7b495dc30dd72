"""Masked-language-model pre-training of a small BERT."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_mlm_alias",
    "source": "own experience",
    "roots": ["in-place-modification"],
    "description": "labels = input_ids without clone: masking overwrites the labels and the stored batch itself",
    "location": "mask_tokens: labels = input_ids",
    "shows_in": "wiring",
}

MASK, VOCAB, LEN = 1, 60, 16


class TinyBert(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.randn(LEN, d) * 0.1)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        return self.head(self.encoder(self.tok(ids) + self.pos))


def mask_tokens(input_ids, generator, keep_original, p=0.2):
    if keep_original:
        labels = input_ids.clone()
        input_ids = input_ids.clone()
    else:
        labels = input_ids
    picked = torch.rand(input_ids.shape, generator=generator) < p
    picked[:, 0] = True
    input_ids[picked] = MASK
    return input_ids, labels, picked


def sentences(n, g):
    base = torch.randint(2, VOCAB - 20, (n, 1), generator=g)
    return base + torch.arange(LEN) % 4 + torch.randint(0, 2, (n, 1), generator=g) * 4


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [{"input_ids": ids} for ids in sentences(8 * 24, g).split(24)]
    model = TinyBert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    mask_rng = torch.Generator().manual_seed(seed + 50)

    def step(batch):
        model.train()
        ids, labels, picked = mask_tokens(batch["input_ids"], mask_rng, keep_original=fixed)
        logits = model(ids)
        loss = F.cross_entropy(logits[picked], labels[picked])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
