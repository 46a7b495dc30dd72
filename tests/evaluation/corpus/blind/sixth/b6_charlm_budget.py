"""Character-level GRU language model trained under a time budget."""
import time

import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_charlm_budget",
    "source": "speed-run style loops (progress = training_time / TIME_BUDGET drives warm-down), e.g. autoresearch / modded-nanogpt forks",
    "roots": ["nondeterministic"],
    "checks": ["is_reproducible"],
    "description": "The learning rate is a function of elapsed wall-clock time, so two runs never use the same rates.",
    "location": "Loop.progress: (time.perf_counter() - self.t0) / self.budget",
}

TEXT = "the quick brown fox jumps over the lazy dog and then the dog sleeps under the old tree near the river "
VOCAB = sorted(set(TEXT))
STOI = {c: i for i, c in enumerate(VOCAB)}


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 48, batch_first=True)
        self.out = nn.Linear(48, vocab)

    def forward(self, idx):
        h, _ = self.rnn(self.emb(idx))
        return self.out(h)


class Loop:
    def __init__(self, model, base_lr=5e-3, budget=30.0, total_steps=400, by_steps=False):
        self.model = model
        self.base_lr = base_lr
        self.budget = budget
        self.total_steps = total_steps
        self.by_steps = by_steps
        self.opt = torch.optim.AdamW(model.parameters(), lr=base_lr, weight_decay=0.01)
        self.t0 = None
        self.n = 0

    def progress(self):
        if self.by_steps:
            return min(1.0, self.n / self.total_steps)
        if self.t0 is None:
            self.t0 = time.perf_counter()
        return min(1.0, (time.perf_counter() - self.t0) / self.budget)

    def set_lr(self):
        factor = max(0.1, 1.0 - self.progress())
        for group in self.opt.param_groups:
            group["lr"] = self.base_lr * factor

    def step(self, batch):
        x, y = batch
        self.set_lr()
        logits = self.model(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.n += 1
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    stream = torch.tensor([STOI[c] for c in TEXT * 4])
    gen = torch.Generator().manual_seed(seed + 1)
    data = []
    for _ in range(8):
        starts = torch.randint(0, len(stream) - 25, (16,), generator=gen)
        x = torch.stack([stream[s:s + 24] for s in starts.tolist()])
        y = torch.stack([stream[s + 1:s + 25] for s in starts.tolist()])
        data.append((x, y))
    loop = Loop(CharGRU(len(VOCAB)), by_steps=fixed)
    return {"model": loop.model, "optimizer": loop.opt, "data": data, "step": loop.step}
