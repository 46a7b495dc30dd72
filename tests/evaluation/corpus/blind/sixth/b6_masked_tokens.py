"""Masked-token pre-training (BERT style) on structured integer sequences."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_masked_tokens",
    "source": "in-place masking of cached token tensors (MLM collators on in-memory datasets)",
    "roots": ["in-place-modification"],
    "checks": [],
    "description": "Masking writes into the cached batch, so from epoch to epoch more tokens are [MASK] for good and the labels become [MASK] as well; the loss falls because of it.",
    "location": "mask_tokens: inputs = tokens",
}

MASK, VOCAB, LEN = 0, 21, 12


class MiniBert(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(LEN, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.lm = nn.Linear(dim, VOCAB)

    def forward(self, x):
        return self.lm(self.enc(self.tok(x) + self.pos(torch.arange(x.size(1)))))


def sequences(n, gen):
    start = torch.randint(0, 20, (n, 1), generator=gen)
    stride = torch.randint(1, 3, (n, 1), generator=gen)
    return 1 + (start + stride * torch.arange(LEN)) % 20


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [sequences(32, gen) for _ in range(8)]
    model = MiniBert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=0.01)
    mask_rng = torch.Generator().manual_seed(seed + 100)

    def mask_tokens(tokens, prob=0.15):
        labels = tokens.clone()
        chosen = torch.rand(tokens.shape, generator=mask_rng) < prob
        chosen[:, 0] |= ~chosen.any(1)
        labels[~chosen] = -100
        inputs = tokens.clone() if fixed else tokens
        inputs[chosen] = MASK
        return inputs, labels

    def step(tokens):
        inputs, labels = mask_tokens(tokens)
        optimizer.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits.view(-1, VOCAB), labels.view(-1), ignore_index=-100)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
