"""Spiking network with surrogate gradients."""
import torch
import torch.nn as nn

META = {
    "id": "h_spiking_surrogate",
    "description": 'The forward spike is a step function whose derivative is replaced in a custom autograd.Function; membranes leak and reset over 10 time steps.',
    "roots": [],
}


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g / (1 + 5 * v.abs()) ** 2


class SNN(nn.Module):
    def __init__(self, n_in=20, hidden=64, classes=4, T=10):
        super().__init__()
        self.T = T
        self.fc1, self.fc2 = nn.Linear(n_in, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        v = torch.zeros(len(x), self.fc1.out_features)
        out = 0.0
        cur = self.fc1(x)
        for _ in range(self.T):
            v = 0.8 * v + cur
            s = Spike.apply(v - 1.0)
            v = v - s.detach()
            out = out + self.fc2(s)
        return out / self.T


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    centre = torch.randn(4, 20)
    data = []
    for _ in range(8):
        y = torch.randint(0, 4, (32,))
        data.append((centre[y] + 0.5 * torch.randn(32, 20), y))
    model = SNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
