import copy
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_moco_queue", "source": "healthy; MoCo with key encoder and queue",
        "roots": [], "checks": [], "description": "momentum contrast, negatives from a ring buffer", "location": ""}


def encoder():
    return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))


class MoCo(nn.Module):
    def __init__(self, size=128, m=0.95, tau=0.2):
        super().__init__()
        self.q = encoder()
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.m, self.tau = m, tau
        self.register_buffer("queue", F.normalize(torch.randn(size, 16), dim=1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def _momentum(self):
        for a, b in zip(self.q.parameters(), self.k.parameters()):
            b.data = b.data * self.m + a.data * (1 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        i = int(self.ptr)
        idx = torch.arange(i, i + len(keys)) % len(self.queue)
        self.queue[idx] = keys
        self.ptr.fill_((i + len(keys)) % len(self.queue))

    def forward(self, xq, xk):
        q = F.normalize(self.q(xq), dim=1)
        with torch.no_grad():
            self._momentum()
            k = F.normalize(self.k(xk), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().t()
        logits = torch.cat([pos, neg], 1) / self.tau
        self._enqueue(k)
        return logits


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 8)
    mix = torch.randn(6, 24, generator=g)
    nuis = torch.randn(6, 24, generator=g)

    def view(z):
        return torch.tanh(0.5 * (z @ mix + 1.2 * torch.randn(len(z), 6, generator=g) @ nuis))

    z = torch.randn(32 * 24, 6, generator=g)
    data = list(zip(view(z).split(32), view(z).split(32)))
    moco = MoCo()
    opt = torch.optim.SGD(moco.q.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    def step(batch):
        logits = moco(*batch)
        loss = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": moco, "optimizer": opt, "data": data, "step": step}
