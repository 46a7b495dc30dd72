"""Regression with hand-written gradient descent."""
import math

import torch
import torch.nn as nn

META = {
    "id": "h_manual_sgd",
    "description": 'No optimizer object: plain tensors with requires_grad, torch.autograd.grad, momentum kept in a list and updates under no_grad.',
    "roots": [],
}


class TwoLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(6, 64) * math.sqrt(2 / 6))
        self.b1 = nn.Parameter(torch.zeros(64))
        self.w2 = nn.Parameter(torch.randn(64, 1) / 8)
        self.b2 = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return (torch.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.randn(32, 6)
        data.append((x, x[:, 0] - 2 * x[:, 1] + x[:, 2].abs()))
    model = TwoLayer()
    params = list(model.parameters())
    velocity = [torch.zeros_like(p) for p in params]

    def step(batch):
        x, y = batch
        loss = (model(x) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, v, g in zip(params, velocity, grads):
                v.mul_(0.9).add_(g)
                p.sub_(0.01 * v)
        return loss

    return {"model": model, "optimizer": None, "data": data, "step": step}
