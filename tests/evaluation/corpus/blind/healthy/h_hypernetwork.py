"""Hypernetwork that writes the weights of a small regressor."""
import torch
import torch.nn as nn

META = {
    "id": "h_hypernetwork",
    "description": 'The main network owns no parameters: its weights are the output of another net fed with a task code, applied by bmm.',
    "roots": [],
}


class Hyper(nn.Module):
    def __init__(self, code=3, hidden=16):
        super().__init__()
        self.h = hidden
        n = hidden + hidden + hidden + 1
        self.gen = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, n))

    def forward(self, code, x):                  # code (B, 3), x (B, n, 1)
        w1, b1, w2, b2 = self.gen(code).split([self.h, self.h, self.h, 1], 1)
        h = torch.tanh(4 * torch.bmm(x, w1[:, None]) + 2 * b1[:, None])
        return torch.bmm(h, w2[:, :, None]) + b2[:, None]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        code = torch.rand(24, 3) * 2 - 1
        x = torch.rand(24, 10, 1) * 2 - 1
        y = code[:, None, :1] * x + torch.tanh(3 * x) * code[:, None, 1:2] + code[:, None, 2:]
        data.append((code, x, y))
    model = Hyper()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        code, x, y = batch
        return (model(code, x) - y).pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
