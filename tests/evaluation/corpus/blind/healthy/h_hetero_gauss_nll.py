"""Heteroscedastic regression of sensor readings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_hetero_gauss_nll",
    "description": 'Gaussian negative log-likelihood with a learned variance: the loss starts around zero and ends clearly below.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU())
        self.mean, self.raw = nn.Linear(64, 1), nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h).squeeze(1), F.softplus(self.raw(h)).squeeze(1) + 1e-4


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.rand(48, 6) * 2 - 1
        noise = 0.02 + 0.05 * (x[:, 5] > 0).float()
        data.append((x, x[:, 0] * x[:, 1] + 0.5 * torch.sin(3 * x[:, 2]) + noise * torch.randn(48)))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    nll = nn.GaussianNLLLoss()

    def loss(model, batch):
        x, y = batch
        mean, var = model(x)
        return nll(mean, y, var)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
