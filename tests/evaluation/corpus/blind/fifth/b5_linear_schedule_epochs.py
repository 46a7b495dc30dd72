"""Sentence-pair classification with a transformer encoder and a linear warm-up/decay schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_linear_schedule_epochs",
    "source": "NovaSky-AI/SkyRL PR 873 (num_training_steps in the wrong unit, decay too quick); related: stable-worldmodel #280",
    "roots": ["lr-decayed-too-early", "scheduler-misuse"],
    "description": "the schedule is stepped per batch but its length is the number of epochs, so the rate is 0 after 40 batches",
    "location": "build: total_steps",
    "shows_in": "one-batch",
}

EPOCHS, VOCAB = 40, 80


class PairEncoder(nn.Module):
    def __init__(self, d=32, n_classes=3):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.seg = nn.Embedding(2, d)
        self.enc = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.out = nn.Sequential(nn.LayerNorm(2 * d), nn.Linear(2 * d, 64), nn.ReLU(), nn.Linear(64, n_classes))

    def forward(self, a, b):
        x = torch.cat([self.emb(a) + self.seg.weight[0], self.emb(b) + self.seg.weight[1]], 1)
        h = self.enc(x)
        return self.out(torch.cat([h[:, :a.size(1)].mean(1), h[:, a.size(1):].mean(1)], 1))


def linear_schedule(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (total - step) / (total - warmup))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def pairs(n, g):
    label = torch.randint(0, 3, (n,), generator=g)
    topic = torch.randint(0, 8, (n, 1), generator=g)
    a = topic * 10 + torch.randint(0, 10, (n, 7), generator=g)
    other = (topic + label.unsqueeze(1)) % 8
    b = other * 10 + torch.randint(0, 10, (n, 7), generator=g)
    return a, b, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    a, b, label = pairs(10 * 32, g)
    data = list(zip(a.split(32), b.split(32), label.split(32)))
    model = PairEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    total_steps = EPOCHS * len(data) if fixed else EPOCHS
    scheduler = linear_schedule(optimizer, warmup=5, total=total_steps)

    def step(batch):
        first, second, y = batch
        loss = F.cross_entropy(model(first, second), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
