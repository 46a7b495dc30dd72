"""Fabric defect classification with a residual CNN."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_fabric_labels",
    "source": "CASES.md C 41864333, 46136553 (mixes up images and labels when making batches)",
    "roots": ["labels-not-aligned"],
    "description": "images are shuffled with one permutation and labels with another",
    "location": "shuffle of images and labels in build",
    "shows_in": "full-data",
}


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.conv2(F.relu(self.conv1(x))))


class DefectNet(nn.Module):
    def __init__(self, n_classes, ch=16):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, stride=2, padding=1)
        self.block1 = ResBlock(ch)
        self.block2 = ResBlock(ch)
        self.fc = nn.Linear(ch, n_classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = self.block2(F.max_pool2d(self.block1(x), 2))
        return self.fc(x.amax(dim=(2, 3)))


def scan_fabric(n, size=14):
    kind = torch.arange(n) % 4
    img = 0.3 * torch.randn(n, 1, size, size)
    for i in range(n):
        a, b = torch.randint(2, size - 4, (2,)).tolist()
        if kind[i] == 1:
            img[i, 0, a, :] += 1.5
        elif kind[i] == 2:
            img[i, 0, :, b] += 1.5
        elif kind[i] == 3:
            img[i, 0, a:a + 3, b:b + 3] -= 1.5
    return img, kind


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 32
    images, kinds = scan_fabric(12 * bs)
    order = torch.randperm(len(images))
    images = images[order]
    if not fixed:
        order = torch.randperm(len(kinds))
    kinds = kinds[order]
    data = [(images[i:i + bs], kinds[i:i + bs]) for i in range(0, len(images), bs)]
    model = DefectNet(n_classes=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        images, kinds = batch
        return F.cross_entropy(model(images), kinds)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
