"""Masked-token pre-training of a small convolutional sequence encoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_masked_tokens",
    "source": "own experience (mask written into the stored batch)",
    "roots": ["in-place-modification"],
    "description": "mask tokens are written into the stored batch; from epoch to epoch the sequences turn into masks, and so do the targets",
    "location": "mask_tokens: tokens[chosen] = MASK",
    "shows_in": "wiring",
}

VOCAB, MASK, LENGTH = 25, 24, 12


class MaskedLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.conv1 = nn.Conv1d(dim, 96, 5, padding=2)
        self.conv2 = nn.Conv1d(96, 96, 3, padding=1)
        self.out = nn.Linear(96, VOCAB)

    def forward(self, tokens):
        h = self.tok(tokens).transpose(1, 2)
        h = F.relu(self.conv2(F.relu(self.conv1(h))))
        return self.out(h.transpose(1, 2))


def mask_tokens(tokens, fixed, rate=0.15):
    labels = tokens.clone()
    if fixed:
        tokens = tokens.clone()
    chosen = torch.rand(tokens.shape) < rate
    chosen[:, 5] |= ~chosen.any(dim=1)
    tokens[chosen] = MASK
    return tokens, labels, chosen


def make_data(g, n_batches=6, batch=24):
    data = []
    for _ in range(n_batches):
        start = torch.randint(0, MASK, (batch, 1), generator=g)
        data.append((start + torch.arange(LENGTH)) % MASK)
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 92)
    data = make_data(g)
    model = MaskedLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def step(batch):
        tokens, labels, chosen = mask_tokens(batch, fixed)
        logits = model(tokens)
        loss = F.cross_entropy(logits[chosen], labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
