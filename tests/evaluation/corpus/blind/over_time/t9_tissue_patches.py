import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "t9_tissue_patches", "source": "histology student project, augment the folder, then train_test_split",
        "roots": ["data-leakage"], "checks": ["generalizes"],
        "description": "patches are augmented four times before the split, so near copies are on both sides",
        "location": "build: expand() runs before split()"}

S = 14


def scan(n, g):
    grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, S), torch.linspace(-1, 1, S), indexing="ij"))
    imgs, labels = [], []
    for i in range(n):
        kind = i % 4
        img = 0.8 * torch.randn(S, S, generator=g)
        cells = 2 if kind in (0, 2) else 5
        r = 0.22 if kind in (0, 1) else 0.42
        for _ in range(cells):
            c = torch.rand(2, generator=g) * 1.6 - 0.8
            img = img + 2.2 * torch.exp(-((grid - c[:, None, None]) ** 2).sum(0) / r ** 2)
        imgs.append(img[None])
        labels.append(kind)
    order = torch.randperm(n, generator=g)
    x = torch.stack(imgs)[order]
    return (x - x.mean()) / x.std(), torch.tensor(labels)[order]


def expand(x, y, times, g):
    xs = [x * (1 + 0.02 * torch.randn(len(x), 1, 1, 1, generator=g)) + 0.02 * torch.randn(x.shape, generator=g)
          for _ in range(times)]
    return torch.cat(xs), y.repeat(times)


def split(x, y, share, g):
    order = torch.randperm(len(y), generator=g)
    cut = int(len(y) * share)
    return (x[order[cut:]], y[order[cut:]]), (x[order[:cut]], y[order[:cut]])


class PatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 9, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 21)
    x, y = scan(2400, g)
    if fixed:
        (tx, ty), (vx, vy) = split(x, y, 0.2, g)
        tx, ty = expand(tx, ty, 4, g)
        order = torch.randperm(len(ty), generator=g)
        tx, ty = tx[order], ty[order]
    else:
        x, y = expand(x, y, 4, g)
        (tx, ty), (vx, vy) = split(x, y, 0.2, g)
    net = PatchNet()
    opt = torch.optim.Adam(net.parameters(), lr=1.5e-3)
    train = list(zip(tx.split(32), ty.split(32)))
    val = list(zip(vx.split(60), vy.split(60)))
    return {"model": net, "optimizer": opt, "data": train, "val": val,
            "loss": lambda model, b: F.cross_entropy(model(b[0]), b[1])}
