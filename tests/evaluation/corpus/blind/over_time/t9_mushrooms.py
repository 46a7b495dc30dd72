import itertools
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "t9_mushrooms", "source": "tutorial on tables of categories", "roots": [], "checks": ["generalizes"],
        "description": "healthy: sightings are independent, and some agree in every one of their few categories by chance", "location": ""}

SIZES = [6, 5, 4, 4, 3, 3, 2]   # cap colour, odour, gill, habitat, ring, season, bruises


def sightings(n, g):
    cols = [torch.randint(0, s, (n,), generator=g) for s in SIZES]
    x = torch.stack(cols, 1)
    bad = (x[:, 1] >= 3) | ((x[:, 0] == 2) & (x[:, 2] < 2)) | ((x[:, 3] == 1) & (x[:, 6] == 1) & (x[:, 4] != 0))
    return x, bad.long()


class CategoryNet(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(s, dim) for s in SIZES)
        self.fc1 = nn.Linear(dim * len(SIZES), 48)
        self.fc2 = nn.Linear(48, 2)

    def forward(self, x):
        e = torch.cat([t(x[:, i]) for i, t in enumerate(self.tables)], dim=1)
        return self.fc2(F.relu(self.fc1(e)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 55)
    x, y = sightings(1024, g)
    vx, vy = sightings(256, g)
    net = CategoryNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    chunks = lambda a, b, k: [(a[i:i + k], b[i:i + k]) for i in range(0, len(a), k)]
    return {"model": net, "optimizer": opt, "data": chunks(x, y, 32), "val": chunks(vx, vy, 64),
            "loss": lambda model, batch: F.cross_entropy(model(batch[0]), batch[1])}
