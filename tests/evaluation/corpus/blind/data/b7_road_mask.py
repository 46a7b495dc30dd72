"""Binary segmentation of roads in small aerial tiles with a little U-shaped network."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "b7_road_mask",
    "source": "own; pattern: 8-bit PNG masks given to BCEWithLogitsLoss",
    "roots": ["invalid-labels"],
    "checks": ["data_is_healthy"],
    "description": "The masks keep their 8-bit values 0 and 255 and are cast to float: targets of a binary loss far above 1.",
    "location": "targets (masks) of training and validation data",
}


def draw_tile(rng, size=32):
    img = rng.normal(0.35, 0.08, size=(3, size, size))
    mask = np.zeros((size, size), np.uint8)
    yy, xx = np.mgrid[:size, :size]
    for _ in range(rng.integers(1, 3)):
        angle, off = rng.uniform(0, np.pi), rng.uniform(8, size - 8)
        dist = (xx - off) * np.cos(angle) + (yy - off) * np.sin(angle)
        mask[np.abs(dist) < rng.uniform(2.0, 3.5)] = 255
    img += (mask > 0) * rng.uniform(0.2, 0.35)
    return np.clip(img, 0, 1).astype(np.float32), mask


class Tiles(Dataset):
    def __init__(self, n, seed, scale):
        rng = np.random.default_rng(seed)
        self.items = [draw_tile(rng) for _ in range(n)]
        self.scale = scale

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = self.items[i]
        mask = torch.from_numpy(mask).float()[None]
        return (torch.from_numpy(img) - 0.4) / 0.2, mask / self.scale


class Net(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.b = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.up = nn.Upsample(scale_factor=2)
        self.out = nn.Conv2d(3 * c, 1, 3, padding=1)

    def forward(self, x):
        a = self.a(x)
        return self.out(torch.cat([a, self.up(self.b(a))], 1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    scale = 255.0 if fixed else 1.0
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        img, mask = batch
        return criterion(model(img), mask)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(Tiles(160, seed, scale), batch_size=8, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(Tiles(32, seed + 1000, scale), batch_size=8),
    }
