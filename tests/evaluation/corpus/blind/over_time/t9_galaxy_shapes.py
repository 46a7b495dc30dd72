import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

META = {"id": "t9_galaxy_shapes", "source": "astronomy repository with random flips and turns", "roots": [],
        "checks": ["generalizes"], "description": "healthy: augmentation on the training set only", "location": ""}


class GalaxyStamps(Dataset):
    def __init__(self, n, seed, train):
        g = torch.Generator().manual_seed(seed)
        axis = torch.linspace(-1, 1, 13)
        yy, xx = torch.meshgrid(axis, axis, indexing="ij")
        self.label = torch.randint(0, 3, (n,), generator=g)
        stamps = []
        for k in self.label.tolist():
            u = torch.rand(4, generator=g)
            a = u[0] * 3.1416
            px, py = xx * torch.cos(a) + yy * torch.sin(a), -xx * torch.sin(a) + yy * torch.cos(a)
            ratio = [1.0, 3.0, 1.0][k]
            r2 = px ** 2 + (py * ratio) ** 2
            img = torch.exp(-r2 / (0.15 + 0.1 * u[1]))
            if k == 2:
                img = torch.exp(-((r2.sqrt() - 0.6) / 0.15) ** 2) + 0.3 * img
            stamps.append(3 * img + 0.5 * torch.randn(13, 13, generator=g))
        self.stamps = torch.stack(stamps)[:, None] - 0.5
        self.train = train

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        x = self.stamps[i]
        if self.train:
            if torch.rand(()) < 0.5:
                x = x.flip(-1)
            x = torch.rot90(x, int(torch.randint(0, 4, ())), (1, 2))
            x = x + 0.2 * torch.randn_like(x)
        return x, self.label[i]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    train = DataLoader(GalaxyStamps(1280, seed + 1, True), batch_size=32, shuffle=True)
    val = DataLoader(GalaxyStamps(320, seed + 2, False), batch_size=64)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 9, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return {"model": model, "optimizer": optimizer, "data": train, "val": val,
            "loss": lambda m, batch: nn.functional.cross_entropy(m(batch[0]), batch[1])}
