"""Diffusion on 2-D points: noise prediction network with an exponential learning rate decay."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_exp_decay",
    "source": "own experience (epoch scheduler stepped per batch); CASES.md I Lightning #6675 family",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "the decay of 10 % meant per epoch is applied after every batch: the rate is gone after some fifty steps",
    "location": "step: scheduler.step() per batch",
    "shows_in": "one-batch",
}

STEPS = 20


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=96):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(
            nn.Linear(dim + 16, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, dim),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def make_data(g, n_batches=8, batch=64):
    angle = 2 * math.pi * torch.arange(3) / 3
    centre = 2.5 * torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)
    keep = torch.linspace(0.95, 0.05, STEPS)
    data = []
    for _ in range(n_batches):
        k = torch.randint(0, 3, (batch,), generator=g)
        t = torch.randint(0, STEPS, (batch,), generator=g)
        noise = torch.randn(batch, 2, generator=g)
        noisy = keep[t].sqrt()[:, None] * centre[k] + (1 - keep[t]).sqrt()[:, None] * noise
        data.append({"x": noisy, "t": t, "noise": noise})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 39)
    data = make_data(g)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    seen = [0]

    def step(batch):
        loss = F.mse_loss(model(batch["x"], batch["t"]), batch["noise"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen[0] += 1
        if not fixed or seen[0] % (10 * len(data)) == 0:
            scheduler.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
