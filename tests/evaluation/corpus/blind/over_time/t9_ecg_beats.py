import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

META = {"id": "t9_ecg_beats", "source": "Kaggle heartbeat notebook, transform defined and never passed",
        "roots": ["overfitting"], "checks": ["generalizes"],
        "description": "few ECG beats, a wide network, and no augmentation or other regularisation",
        "location": "build: BeatDataset(...) of the training set gets no transform"}

L = 96


def make_beats(n, g):
    t = torch.linspace(0, 1, L)
    y = torch.randint(0, 4, (n,), generator=g)
    out = []
    for k in y.tolist():
        r = torch.rand(7, generator=g)
        s = 0.3 + 0.4 * r[0]
        width = 0.02 if k != 1 else 0.045
        beat = torch.exp(-((t - s) / width) ** 2) * (0.8 + 0.4 * r[1])
        if k != 2:
            beat = beat + 0.25 * torch.exp(-((t - s + 0.16) / 0.03) ** 2)
        beat = beat + (-0.3 if k == 3 else 0.3) * torch.exp(-((t - s - 0.2) / 0.05) ** 2)
        beat = beat + 0.15 * torch.sin(2 * math.pi * (t * (1 + r[2]) + r[3]))
        out.append(beat + 0.12 * torch.randn(L, generator=g))
    return torch.stack(out) * 3, y


class RandomShiftScale:
    def __call__(self, x):
        x = torch.roll(x, int(torch.randint(-19, 20, (1,))))
        return x * (0.85 + 0.3 * torch.rand(1)) + 0.3 * torch.randn_like(x)


class BeatDataset(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if self.transform is not None:
            x = self.transform(x)
        return x, self.y[i]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 5)
    train_x, train_y = make_beats(400, g)
    val_x, val_y = make_beats(384, g)
    transform = RandomShiftScale()
    if fixed:
        train_set = BeatDataset(train_x, train_y, transform)
    else:
        train_set = BeatDataset(train_x, train_y)
    loader = DataLoader(train_set, batch_size=20, shuffle=True)
    val = list(DataLoader(BeatDataset(val_x, val_y), batch_size=64))
    net = nn.Sequential(nn.Linear(L, 384), nn.ReLU(), nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    return {"model": net, "optimizer": opt, "data": loader, "val": val,
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
