"""Mixture density network on an inverse problem."""
import math

import torch
import torch.nn as nn

META = {
    "id": "h_mdn_inverse",
    "description": 'Negative log-likelihood of a mixture of Gaussians: goes below zero and has no natural lower end.',
    "roots": [],
}


class MDN(nn.Module):
    def __init__(self, k=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.pi, self.mu, self.log_s = nn.Linear(48, k), nn.Linear(48, k), nn.Linear(48, k)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h).log_softmax(1), self.mu(h), self.log_s(h).clamp(-4, 3)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        t = torch.rand(48, 1)
        x = t + 0.3 * torch.sin(2 * math.pi * t) + 0.02 * torch.randn(48, 1)
        data.append((x, t))
    model = MDN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, t = batch
        log_pi, mu, log_s = model(x)
        logp = -0.5 * ((t - mu) / log_s.exp()) ** 2 - log_s - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(log_pi + logp, 1).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
