"""Masked-token encoder trained with gradient accumulation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_accum_window",
    "source": "own experience (window longer than the epoch); cf. CASES.md ms-swift PR 10084",
    "roots": ["missing-optimizer-step"],
    "description": "the batch index restarts every epoch of 8 batches while the window is 16, so the optimizer is never stepped",
    "location": "condition in Loop.step",
    "shows_in": "one-batch",
}

MASK = 0


class TokenModel(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(10, dim)
        self.enc = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.enc(self.tok(ids) + self.pos.weight[: ids.size(1)]))


class Loop:
    def __init__(self, model, batches_per_epoch, window):
        self.model, self.n, self.window = model, batches_per_epoch, window
        self.opt = torch.optim.Adam(model.parameters(), lr=3e-3)
        self.opt.zero_grad()
        self.i = 0

    def step(self, batch):
        ids, target, hidden = batch
        logits = self.model(ids)
        loss = F.cross_entropy(logits[hidden], target[hidden])
        (loss / self.window).backward()
        if (self.i + 1) % self.window == 0:
            self.opt.step()
            self.opt.zero_grad()
        self.i = (self.i + 1) % self.n
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    start = torch.randint(1, 20, (192, 1))
    stride = torch.randint(1, 4, (192, 1))
    target = (start + stride * torch.arange(10)) % 19 + 1
    hidden = torch.rand(192, 10) < 0.2
    hidden[:, 4] = True
    ids = target.masked_fill(hidden, MASK)
    data = list(zip(ids.split(24), target.split(24), hidden.split(24)))
    loop = Loop(TokenModel(), batches_per_epoch=len(data), window=2 if fixed else 16)
    return {"model": loop.model, "optimizer": loop.opt, "data": data, "step": loop.step}
