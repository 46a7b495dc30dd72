"""Decoder-only language model on sequences of very different lengths, with micro-batching."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_varlen_lm",
    "source": "the num_items_in_batch bug of transformers (Oct 2024); CASES.md I: Soup PR 742",
    "roots": ["loss-reduction", "accumulation-not-scaled"],
    "checks": ["accumulates_exactly"],
    "description": "The loss is the mean over the valid tokens of each micro-batch and is then averaged over micro-batches: sequences weigh more or less depending on their neighbours' lengths.",
    "location": "token_loss: F.cross_entropy(..., ignore_index=-100)",
}

V, T, ACCUM = 23, 20, 4


class TinyGPT(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(V, dim)
        self.pos = nn.Embedding(T, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, V)

    def forward(self, x):
        n = x.size(1)
        h = self.tok(x) + self.pos(torch.arange(n))
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        return self.head(self.norm(self.block(h, src_mask=mask, is_causal=True)))


def sequences(n, gen):
    start = torch.randint(0, V, (n,), generator=gen)
    stride = torch.randint(1, 4, (n,), generator=gen)
    seq = (start[:, None] + stride[:, None] * torch.arange(T + 1)) % V
    length = torch.where(torch.rand(n, generator=gen) < 0.5,
                         torch.randint(3, 6, (n,), generator=gen),
                         torch.randint(14, T + 1, (n,), generator=gen))
    x, y = seq[:, :-1].clone(), seq[:, 1:].clone()
    pad = torch.arange(T)[None] >= length[:, None]
    x[pad] = 0
    y[pad] = -100
    return x, y


def token_loss(model, batch):
    x, y = batch
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-100)


def sequence_loss(model, batch):
    x, y = batch
    nll = F.cross_entropy(model(x).transpose(1, 2), y, ignore_index=-100, reduction="none")
    return (nll.sum(1) / (y != -100).sum(1)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [sequences(32, gen) for _ in range(8)]
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    criterion = sequence_loss if fixed else token_loss

    def step(batch):
        optimizer.zero_grad(set_to_none=True)
        running = 0.0
        for micro in zip(batch[0].chunk(ACCUM), batch[1].chunk(ACCUM)):
            loss = criterion(model, micro) / ACCUM
            loss.backward()
            running += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return running

    return {"model": model, "optimizer": optimizer, "data": data, "step": step, "loss": criterion}
