import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {"id": "h3_ordinal_ratings", "source": "healthy; CORAL ordinal regression",
        "roots": [], "checks": [], "description": "one shared score, ordered learned thresholds, K-1 binary targets", "location": ""}


class Coral(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 40), nn.GELU(), nn.Linear(40, 1, bias=False))
        self.first = nn.Parameter(torch.tensor(-1.5))
        self.gaps = nn.Parameter(torch.zeros(k - 2))

    def forward(self, x):
        cut = torch.cat([self.first[None], self.first + F.softplus(self.gaps).cumsum(0)])
        return self.f(x) - cut


def coral_loss(m, batch):
    logits = m(batch[0])
    levels = (batch[1][:, None] > torch.arange(logits.shape[1])).float()
    return F.binary_cross_entropy_with_logits(logits, levels, reduction="none").sum(1).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 23)
    x = torch.randn(32 * 26, 10, generator=g)
    u = x[:, 0] + torch.tanh(2 * x[:, 1]) - 0.7 * x[:, 2].abs() + 0.2 * torch.randn(len(x), generator=g)
    y = torch.bucketize(u, torch.tensor([-1.8, -0.8, 0.0, 0.8]))
    m = Coral(10, 5)
    opt = torch.optim.Adam([{"params": m.f.parameters()}, {"params": [m.first, m.gaps], "lr": 2e-2}], lr=5e-3)
    return {"model": m, "optimizer": opt, "data": DataLoader(TensorDataset(x, y), 32, shuffle=True, generator=torch.Generator().manual_seed(seed)), "loss": coral_loss}
