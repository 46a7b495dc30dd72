import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_cosine_inplace",
        "source": "hand-written cosine schedules in training loops (adjust_learning_rate helpers of vision repos)",
        "roots": ["lr-decayed-too-early", "scheduler-misuse"], "checks": [],
        "description": "The cosine factor is multiplied onto the current instead of the base rate, so it compounds and the rate is gone after some 80 of 1200 steps.",
        "location": "adjust_learning_rate"}


class TextCNN(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 24, k, padding=k // 2) for k in (1, 3)])
        self.fc = nn.Linear(48, classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        return self.fc(torch.cat([F.relu(c(x)).mean(-1) for c in self.convs], 1))


def adjust_learning_rate(optimizer, base, it, total, fixed):
    factor = 0.5 * (1 + math.cos(math.pi * min(it, total) / total))
    for group in optimizer.param_groups:
        group["lr"] = max((base if fixed else group["lr"]) * factor, 1e-7)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 5)
    score = torch.randn(30, 3, generator=g)
    data = []
    for _ in range(40):
        ids = torch.randint(0, 30, (32, 10), generator=g)
        data.append((ids, score[ids].sum(1).argmax(1)))
    model = TextCNN(30, 24, 3)
    base = 0.04
    opt = torch.optim.SGD(model.parameters(), lr=base, momentum=0.9, nesterov=True)
    state = {"it": 0}

    def train_step(batch):
        adjust_learning_rate(opt, base, state["it"], 1200, fixed)
        ids, y = batch
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        state["it"] += 1
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": data, "step": train_step}
