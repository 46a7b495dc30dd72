"""MoCo with a momentum encoder and a queue of keys."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_moco_queue",
    "description": 'The key encoder has requires_grad=False and moves by EMA only; the queue is a buffer that is overwritten each step; the loss has a floor (the queue holds older keys of the same samples).',
    "roots": [],
}


def mlp():
    return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 32))


class MoCo(nn.Module):
    def __init__(self, dim=32, size=256, m=0.98):
        super().__init__()
        self.m, self.ptr = m, 0
        self.q = mlp()
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))

    @torch.no_grad()
    def update_key(self):
        for a, b in zip(self.q.parameters(), self.k.parameters()):
            b.mul_(self.m).add_(a, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[self.ptr:self.ptr + len(keys)] = keys
        self.ptr = (self.ptr + len(keys)) % len(self.queue)

    def forward(self, xq, xk):
        q = F.normalize(self.q(xq), dim=1)
        with torch.no_grad():
            k = F.normalize(self.k(xk), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.t()], 1) / 0.2
        return logits, k


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    basis = torch.randn(8, 24)
    data = [torch.randn(32, 8) @ basis for _ in range(12)]
    model = MoCo()
    with torch.no_grad():                        # fill the queue with real keys before training
        for x in data[4:]:
            model.enqueue(F.normalize(model.k(x), dim=1))
    optimizer = torch.optim.SGD(model.q.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    def step(x):
        noisy = lambda: x + 0.2 * torch.randn_like(x)
        optimizer.zero_grad()
        logits, keys = model(noisy(), noisy())
        loss = F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))
        loss.backward()
        optimizer.step()
        model.update_key()
        model.enqueue(keys)
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
