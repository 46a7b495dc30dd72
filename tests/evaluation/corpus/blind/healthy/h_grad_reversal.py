"""Domain-adversarial training with gradient reversal."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_grad_reversal",
    "description": 'The domain loss pulls against the encoder by a reversed gradient; its part settles near log 2 instead of falling, while the label loss falls.',
    "roots": [],
}


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.label = nn.Linear(32, 3)
        self.domain = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, lam):
        h = self.enc(x)
        return self.label(h), self.domain(Reverse.apply(h, lam)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centre, shift = torch.randn(3, 12), 0.7 * torch.randn(12)
    data = []
    for _ in range(8):
        y = torch.randint(0, 3, (64,))
        dom = (torch.arange(64) >= 32).float()
        x = centre[y] + dom[:, None] * shift + 0.5 * torch.randn(64, 12)
        data.append((x, y, dom))
    model = DANN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    state = {"n": 0}

    def step(batch):
        x, y, dom = batch
        lam = 2 / (1 + math.exp(-state["n"] / 50)) - 1
        state["n"] += 1
        logits, d = model(x, lam)
        src = dom == 0
        loss = F.cross_entropy(logits[src], y[src]) + F.binary_cross_entropy_with_logits(d, dom)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
