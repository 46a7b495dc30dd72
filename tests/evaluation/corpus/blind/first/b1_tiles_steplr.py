"""Terrain classification with a CNN, SGD and the usual 30-epoch step schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR

META = {
    "id": "b1_tiles_steplr",
    "source": "PyTorch forum classic: epoch scheduler stepped once per batch",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "StepLR(step_size=30), meant for epochs, is stepped after every batch: the rate is gone after two hundred batches",
    "location": "step: scheduler.step()",
    "shows_in": "full-data",
}


class TerrainNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 9, 48)
        self.fc2 = nn.Linear(48, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def make_tiles(n, n_classes, size=12):
    base = torch.randn(n_classes, 3, 4, 4)
    label = torch.randint(0, n_classes, (n,))
    img = F.interpolate(base[label], size=size, mode="bilinear")
    img = img * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + 0.6 * torch.randn(n, 3, size, size)
    return img, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_classes, bs = 10, 24
    tiles, labels = make_tiles(10 * bs, n_classes)
    data = list(zip(tiles.split(bs), labels.split(bs)))
    model = TerrainNet(n_classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=30, gamma=0.1)
    seen = 0

    def step(batch):
        nonlocal seen
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seen += 1
        if fixed:
            if seen % len(data) == 0:
                scheduler.step()
        else:
            scheduler.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
