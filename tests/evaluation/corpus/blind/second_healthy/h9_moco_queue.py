import copy
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_moco_queue", "source": "contrastive learning repo", "roots": [], "checks": [],
        "description": "healthy MoCo on 1-D signals: momentum key encoder, FIFO queue buffer", "location": ""}


def backbone():
    return nn.Sequential(nn.Conv1d(1, 16, 7, 2, 3), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv1d(16, 32, 5, 2, 2),
                         nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, 32))


class MoCo(nn.Module):
    def __init__(self, K=256, m=0.97, t=0.2):
        super().__init__()
        self.q = backbone()
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.m, self.t = m, t
        self.register_buffer("queue", F.normalize(torch.randn(K, 32), dim=1))
        self.ptr = 0

    def forward(self, xq, xk):
        q = F.normalize(self.q(xq), dim=1)
        with torch.no_grad():
            for pk, pq in zip(self.k.parameters(), self.q.parameters()):
                pk.mul_(self.m).add_(pq, alpha=1 - self.m)
            k = F.normalize(self.k(xk), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().T], 1) / self.t
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        with torch.no_grad():
            self.queue[self.ptr:self.ptr + len(k)] = k
            self.ptr = (self.ptr + len(k)) % len(self.queue)
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 96)
    f = torch.rand(32 * 16, 3, generator=g) * 14 + 1
    a = torch.randn(32 * 16, 3, generator=g)
    sig = (a[..., None] * torch.sin(6.2832 * f[..., None] * t)).sum(1, keepdim=True)
    sig = sig / sig.std(-1, keepdim=True)
    model = MoCo()
    with torch.no_grad():       # fill the dictionary with real keys before the first step
        model.queue.copy_(F.normalize(model.k(sig[:256]), dim=1))
    opt = torch.optim.AdamW(model.q.parameters(), lr=2e-3, weight_decay=1e-4)

    def view(x):
        x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1)) + 0.15 * torch.randn_like(x)
        return torch.roll(x, int(torch.randint(-3, 4, ())), -1)

    def step(x):
        loss = model(view(x), view(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": list(sig.split(32)), "step": step}
