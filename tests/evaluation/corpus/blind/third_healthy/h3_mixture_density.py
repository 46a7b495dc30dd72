import math
import torch
from torch import nn

META = {"id": "h3_mixture_density", "source": "healthy; mixture density network for inverse problems",
        "roots": [], "checks": [], "description": "five-component MDN for the multi-valued inverse of x = y + 0.3 sin(2 pi y)", "location": ""}


class MDN(nn.Module):
    def __init__(self, k=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.pi, self.mu, self.ls = nn.Linear(48, k), nn.Linear(48, k), nn.Linear(48, k)
        with torch.no_grad():
            self.mu.bias.copy_(torch.linspace(-1, 1, k))

    def forward(self, x):
        h = self.trunk(x)
        return self.pi(h).log_softmax(-1), self.mu(h), self.ls(h).clamp(-3.5, 2)


def nll(model, batch):
    x, y = batch
    lp, mu, ls = model(x)
    comp = -0.5 * ((y - mu) / ls.exp()) ** 2 - ls - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(lp + comp, -1).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 16)
    y = torch.rand(64 * 20, 1, generator=g)
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.03 * torch.randn(y.shape, generator=g)
    x, y = (x - 0.5) * 3, (y - 0.5) * 3
    m = MDN()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=5e-3),
            "data": list(zip(x.split(64), y.split(64))), "loss": nll}
