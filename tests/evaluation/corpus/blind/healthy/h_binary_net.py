"""Binarised network with clipped latent weights."""
import math

import torch
import torch.nn as nn

META = {
    "id": "h_binary_net",
    "description": 'Sign activations and weights with a hard-tanh straight-through estimator; latent weights are clamped to [-1, 1] after every step.',
    "roots": [],
}


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).float()


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Sign.apply(self.weight)) / math.sqrt(self.in_features)


class BNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(20, 128)
        self.bn1 = nn.BatchNorm1d(128)
        self.bin = BinaryLinear(128, 128, bias=False)
        self.bn2 = nn.BatchNorm1d(128)
        self.out = nn.Linear(128, 4)

    def forward(self, x):
        h = Sign.apply(self.bn1(self.inp(x)))
        h = Sign.apply(self.bn2(self.bin(h)))
        return self.out(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centre = torch.randn(8, 20)
    data = []
    for _ in range(8):
        c = torch.randint(0, 8, (48,))
        data.append((centre[c] + 0.5 * torch.randn(48, 20), c % 4))
    model = BNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.bin.weight.clamp_(-1, 1)
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
