"""Sentence-pair classification with a linear warm-up of the learning rate."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_warmup_ratio",
    "source": "own experience (integer division in the warm-up); CASES.md K lr_zero",
    "roots": ["scheduler-misuse"],
    "description": "warm-up factor computed with integer division: 0 for the first 1000 steps, then a jump to the full rate",
    "location": "warmup: step // warmup_steps",
    "shows_in": "one-batch",
}

VOCAB, LENGTH = 30, 8


class PairNet(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.encoder = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.head = nn.Sequential(nn.Linear(4 * dim, 64), nn.ReLU(), nn.Linear(64, 2))

    def encode(self, tokens):
        return self.encoder(self.embed(tokens)).mean(dim=1)

    def forward(self, a, b):
        u, v = self.encode(a), self.encode(b)
        return self.head(torch.cat([u, v, (u - v).abs(), u * v], dim=1))


def pairs(g, n_batches=8, batch=40):
    data = []
    for _ in range(n_batches):
        a = torch.randint(0, VOCAB, (batch, LENGTH), generator=g)
        same = torch.rand(batch, generator=g) < 0.5
        other = torch.randint(0, VOCAB, (batch, LENGTH), generator=g)
        shuffled = a[:, torch.randperm(LENGTH, generator=g)]
        b = torch.where(same[:, None], shuffled, other)
        data.append((a, b, same.long()))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 93)
    data = pairs(g)
    model = PairNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    warmup_steps = 1000

    def warmup(step):
        if fixed:
            return min(1.0, (step + 1) / warmup_steps)
        return min(1, step // warmup_steps)

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup)

    def step(batch):
        a, b, same = batch
        loss = F.cross_entropy(model(a, b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
