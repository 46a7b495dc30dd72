import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

META = {"id": "b9_landcover_seg", "source": "remote-sensing segmentation repositories (ignore_index=0 with a data set whose class 0 is real)",
        "roots": ["ignored-class"], "checks": [],
        "description": "ignore_index=0 is kept from another data set, but here label 0 is a class of its own (water), which is never learnt",
        "location": "build: criterion"}

CLASSES = ["water", "forest", "urban", "crops"]


class SeparableConv(nn.Module):
    def __init__(self, i, o, dilation=1):
        super().__init__()
        self.dw = nn.Conv2d(i, i, 3, padding=dilation, dilation=dilation, groups=i, bias=False)
        self.pw = nn.Conv2d(i, o, 1, bias=False)
        self.bn = nn.BatchNorm2d(o)

    def forward(self, x):
        return F.relu(self.bn(self.pw(self.dw(x))))


class LiteASPP(nn.Module):
    def __init__(self, bands, classes, ch=24):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(bands, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch), nn.ReLU())
        self.branches = nn.ModuleList([SeparableConv(ch, ch, d) for d in (1, 2, 4)])
        self.head = nn.Conv2d(3 * ch, classes, 1)

    def forward(self, x):
        x = self.stem(x)
        return self.head(torch.cat([b(x) for b in self.branches], 1))


def tiles(n, seed, size=16, bands=4):
    g = torch.Generator().manual_seed(seed + 52)
    coarse = torch.randn(n, 4, 4, 4, generator=g)
    mask = F.interpolate(coarse, size=(size, size), mode="bilinear", align_corners=False).argmax(1)
    spectra = torch.randn(4, bands, generator=g)
    img = spectra[mask].permute(0, 3, 1, 2) + 0.6 * torch.randn(n, bands, size, size, generator=g)
    return img, mask


@torch.no_grad()
def mean_iou(model, img, mask):
    model.eval()
    pred = model(img).argmax(1)
    ious = []
    for k in range(len(CLASSES)):
        inter, union = ((pred == k) & (mask == k)).sum(), ((pred == k) | (mask == k)).sum()
        ious.append(float(inter) / max(1, int(union)))
    return sum(ious) / len(ious), dict(zip(CLASSES, ious))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, mask = tiles(320, seed)
    loader = DataLoader(TensorDataset(img[:256], mask[:256]), batch_size=16, shuffle=True,
                        generator=torch.Generator().manual_seed(seed))
    val = list(zip(img[256:].split(16), mask[256:].split(16)))
    model = LiteASPP(4, len(CLASSES))
    criterion = nn.CrossEntropyLoss() if fixed else nn.CrossEntropyLoss(ignore_index=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [600, 900], gamma=0.3)
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler, "data": loader, "val": val,
            "loss": lambda m, b: criterion(m(b[0]), b[1])}
