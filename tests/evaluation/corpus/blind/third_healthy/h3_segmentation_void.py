import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_segmentation_void", "source": "healthy; segmentation with void label 255",
        "roots": [], "checks": [], "description": "tiny U-Net, cross-entropy plus dice, borders marked 255 are ignored", "location": ""}


def cbr(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.d1, self.d2, self.u1 = cbr(2, 12), cbr(12, 24), cbr(36, 12)
        self.out = nn.Conv2d(12, k, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.u1(torch.cat([a, b], 1)))


def criterion(logits, y):
    ce = F.cross_entropy(logits, y, ignore_index=255)
    ok = (y != 255).unsqueeze(1)
    oh = F.one_hot(y.masked_fill(y == 255, 0), logits.shape[1]).permute(0, 3, 1, 2) * ok
    p = logits.softmax(1) * ok
    dice = 1 - ((2 * (p * oh).sum((0, 2, 3)) + 1) / (p.sum((0, 2, 3)) + oh.sum((0, 2, 3)) + 1)).mean()
    return ce + 0.5 * dice


def scenes(n, g, s=12):
    yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")
    img, lab = torch.zeros(n, 2, s, s), torch.zeros(n, s, s, dtype=torch.long)
    for i in range(n):
        cy, cx = (torch.rand(2, generator=g) * s).tolist()
        d = ((yy - cy) ** 2 + (xx - cx) ** 2).float().sqrt()
        lab[i][d < 3.5] = 1
        t = int(torch.randint(2, s - 2, (1,), generator=g))
        lab[i][:, t:][d[:, t:] >= 3.5] = 2
        img[i, 0], img[i, 1] = (lab[i] == 1).float(), (lab[i] == 2).float()
        lab[i][(d - 3.5).abs() < 0.35] = 255
    img = img + 0.6 * torch.randn(n, 2, s, s, generator=g)
    return img, lab


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = scenes(16 * 44, torch.Generator().manual_seed(seed + 4))
    b = list(zip(x.split(16), y.split(16)))
    net = UNet()
    return {"model": net, "optimizer": torch.optim.Adam(net.parameters(), lr=5e-3), "data": b[:36], "val": b[36:],
            "loss": lambda m, b: criterion(m(b[0]), b[1])}
