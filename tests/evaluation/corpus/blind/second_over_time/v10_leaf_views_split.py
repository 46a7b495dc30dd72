import torch
from torch import nn, optim
import torch.nn.functional as F

META = {"id": "v10_leaf_views_split",
        "source": "PlantVillage-type pipelines: offline augmentation writes new files first, the random split comes after it (Kaggle discussions, also described in Kapoor & Narayanan 2022)",
        "roots": ["data-leakage"],
        "checks": [],
        "description": "Validation images are the training images with slight noise and brightness: augmented copies were written before the split, so both sides hold views of the same leaf.",
        "location": "LeafArchive.subsets: val views are drawn from the training leaves"}


class LeafArchive:
    size = 12

    def __init__(self, leaves, g):
        self.g = g
        self.kind = torch.randint(0, 4, (leaves,), generator=g)
        t = torch.linspace(-1, 1, self.size)
        yy, xx = torch.meshgrid(t, t, indexing="ij")
        angle = self.kind.float() * torch.pi / 4 + 0.16 * torch.randn(leaves, generator=g)
        phase = 6.28 * torch.rand(leaves, generator=g)
        freq = 5 + 2 * torch.rand(leaves, generator=g)
        arg = freq[:, None, None] * (angle.cos()[:, None, None] * xx + angle.sin()[:, None, None] * yy)
        veins = torch.sin(arg + phase[:, None, None])
        tint = torch.rand(leaves, 3, generator=g)[:, :, None, None]
        self.img = veins[:, None] * (0.5 + tint) + 0.6 * torch.randn(leaves, 3, self.size, self.size, generator=g)

    def view(self, idx):
        x = self.img[idx]
        x = x * (1 + 0.03 * torch.randn(len(idx), 1, 1, 1, generator=self.g))
        return x + 0.03 * torch.randn(x.shape, generator=self.g), self.kind[idx]

    def subsets(self, n_train, n_val, apart):
        order = torch.randperm(len(self.kind), generator=self.g)
        train = order[:n_train]
        val = order[n_train:n_train + n_val] if apart else train[torch.randperm(n_train, generator=self.g)[:n_val]]
        return self.view(train), self.view(val)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv(3, 16), conv(16, 32))
        self.classifier = nn.Linear(32 * 9, 4)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def chunks(pair, n):
    return list(zip(pair[0].split(n), pair[1].split(n)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(100 + seed)
    train, val = LeafArchive(1200, g).subsets(960, 240, apart=fixed)
    net = LeafNet()
    return {"model": net, "optimizer": optim.Adam(net.parameters(), lr=2e-3), "data": chunks(train, 32),
            "val": chunks(val, 60), "loss": lambda m, batch: F.cross_entropy(m(batch[0]), batch[1])}
