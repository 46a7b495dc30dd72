"""Consistency training with an EMA teacher."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_consistency_ema",
    "description": 'The target comes from a frozen EMA copy at the neighbouring noise level; the loss is small from the start by construction and noisy. A denoising term keeps it anchored.',
    "roots": [],
}


class ConsistencyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2))

    def forward(self, x, sigma):
        c_skip = 0.25 / (sigma ** 2 + 0.25)
        c_out = 0.5 * sigma / (sigma ** 2 + 0.25).sqrt()
        h = torch.cat([x / (sigma ** 2 + 0.25).sqrt(), sigma.log() / 4], 1)
        return c_skip * x + c_out * self.net(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centres = torch.tensor([[1.5, 0.0], [-1.5, 0.5]])
    data = [centres[torch.randint(0, 2, (64,))] for _ in range(6)]
    sigmas = torch.exp(torch.linspace(math.log(0.05), math.log(1.0), 12))
    model = ConsistencyNet()
    teacher = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(x0):
        n = torch.randint(0, 11, (len(x0),))
        lo, hi = sigmas[n][:, None], sigmas[n + 1][:, None]
        eps = torch.randn_like(x0)
        pred = model(x0 + hi * eps, hi)
        with torch.no_grad():
            target = teacher(x0 + lo * eps, lo)
        loss = F.mse_loss(pred, target) + F.mse_loss(pred, x0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), teacher.parameters()):
                q.lerp_(p, 0.05)
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
