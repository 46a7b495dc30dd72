import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {"id": "h3_hypernetwork", "source": "healthy; hypernetwork conditioned on a task vector",
        "roots": [], "checks": [], "description": "weights of a small target net are generated per sample from a condition", "location": ""}


class Pairs(Dataset):
    def __init__(self, c, x, y):
        self.c, self.x, self.y = c, x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"c": self.c[i], "x": self.x[i], "y": self.y[i]}


class HyperNet(nn.Module):
    def __init__(self, cond=4, inp=6, hid=12):
        super().__init__()
        self.shapes = [(hid, inp), (hid,), (1, hid), (1,)]
        total = sum(torch.Size(s).numel() for s in self.shapes)
        self.gen = nn.Sequential(nn.Linear(cond, 32), nn.SiLU(), nn.Linear(32, total))
        with torch.no_grad():
            self.gen[-1].weight.mul_(0.3)
            self.gen[-1].bias.normal_(0, 0.3)

    def forward(self, c, x):
        flat = self.gen(c)
        parts = flat.split([torch.Size(s).numel() for s in self.shapes], dim=1)
        w1, b1, w2, b2 = (p.view(-1, *s) for p, s in zip(parts, self.shapes))
        h = F.silu(torch.einsum("bhi,bi->bh", w1, x) + b1)
        return torch.einsum("boh,bh->bo", w2, h) + b2


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n = 48 * 24
    c, x = torch.randn(n, 4, generator=g), torch.randn(n, 6, generator=g)
    M = torch.randn(4, 6, generator=g) / 3
    y = torch.tanh(((c @ M) * x).sum(1, keepdim=True))
    m = HyperNet()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=4e-3),
            "data": DataLoader(Pairs(c, x, y), batch_size=48, shuffle=True, generator=torch.Generator().manual_seed(seed)),
            "loss": lambda m, b: F.huber_loss(m(b["c"], b["x"]), b["y"])}
