import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

META = {"id": "b9_copy_transformer", "source": "Annotated-Transformer derivatives; forum questions on LambdaLR with Noam",
        "roots": ["scheduler-misuse", "lr-too-low"], "checks": [],
        "description": "the lambda returns the learning rate itself, and LambdaLR multiplies it with the learning rate once more",
        "location": "build: LambdaLR"}

PAD, BOS = 0, 1


class PositionalEncoding(nn.Module):
    def __init__(self, d, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(max_len, d)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Seq2Seq(nn.Module):
    def __init__(self, vocab, d=48, heads=4):
        super().__init__()
        self.d = d
        self.emb = nn.Embedding(vocab, d)
        nn.init.normal_(self.emb.weight, std=d ** -0.5)
        self.pos = PositionalEncoding(d)
        self.tr = nn.Transformer(d, heads, 1, 1, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.gen = nn.Linear(d, vocab)

    def embed(self, ids):
        return self.pos(self.emb(ids) * math.sqrt(self.d))

    def forward(self, src, tgt):
        mask = torch.triu(torch.full((tgt.size(1), tgt.size(1)), float("-inf")), diagonal=1)
        return self.gen(self.tr(self.embed(src), self.embed(tgt), tgt_mask=mask))


def warmup_cosine(step, peak, warmup, total):
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))


def make_pairs(n, seed, vocab=20, length=8):
    g = torch.Generator().manual_seed(seed + 77)
    src = torch.randint(2, vocab, (n, length), generator=g)
    shift = (src - 2 + 5) % (vocab - 2) + 2
    tgt = torch.cat([torch.full((n, 1), BOS), shift.flip(1)], 1)
    return src, tgt


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = Seq2Seq(20)
    peak = 2e-3
    optimizer = torch.optim.Adam(model.parameters(), lr=peak, betas=(0.9, 0.98), eps=1e-9)
    if fixed:
        scheduler = LambdaLR(optimizer, lambda s: warmup_cosine(s, 1.0, 20, 1000))
    else:
        scheduler = LambdaLR(optimizer, lambda s: warmup_cosine(s, peak, 20, 1000))
    src, tgt = make_pairs(640, seed)
    data = list(zip(src.split(32), tgt.split(32)))

    def run_batch(batch):
        model.train()
        src, tgt = batch
        logits = model(src, tgt[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": run_batch}
