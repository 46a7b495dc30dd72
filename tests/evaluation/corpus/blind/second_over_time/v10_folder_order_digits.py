import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "v10_folder_order_digits",
        "source": "ImageFolder read without shuffle=True (classes come one after the other; fast.ai and PyTorch forum: 'loss drops and jumps periodically')",
        "roots": ["class-imbalance", "lr-too-high"],
        "checks": [],
        "description": "The files are read folder by folder and never shuffled, so each batch holds one class only and a pass swings from class to class; the net always predicts what it saw last.",
        "location": "FolderReader.epoch: no permutation of the files"}

KINDS, SIDE = 4, 10


class FolderReader:
    def __init__(self, per_kind, seed):
        g = torch.Generator().manual_seed(seed)
        glyph = (F.avg_pool2d(torch.randn(KINDS, 1, SIDE + 2, SIDE + 2, generator=torch.Generator().manual_seed(5)), 3, 1) * 3)
        imgs, kinds = [], []
        for k in range(KINDS):
            x = glyph[k].expand(per_kind, 1, SIDE, SIDE)
            gain = 0.6 + 0.6 * torch.rand(per_kind, 1, 1, 1, generator=g)
            imgs.append(x * gain + 0.9 * torch.randn(per_kind, 1, SIDE, SIDE, generator=g))
            kinds += [k] * per_kind
        self.imgs, self.kinds, self.g = torch.cat(imgs), torch.tensor(kinds), g

    def epoch(self, size, mixed):
        order = torch.randperm(len(self.kinds), generator=self.g) if mixed else torch.arange(len(self.kinds))
        return [{"img": self.imgs[i], "kind": self.kinds[i]} for i in order.split(size)]


class GlyphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 25, KINDS)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    train = FolderReader(320, seed + 1).epoch(32, mixed=fixed)
    val = FolderReader(64, seed + 2).epoch(64, mixed=True)
    net = GlyphNet()
    return {"model": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), "data": train,
            "val": val, "loss": lambda m, b: F.cross_entropy(m(b["img"]), b["kind"])}
