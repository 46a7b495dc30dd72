"""Blob segmentation by a small U-Net with dice plus BCE."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_dice_unet",
    "description": 'Sum of a soft dice loss (1 - dice) and a BCE on heavily imbalanced masks; the skip connections are concatenated.',
    "roots": [],
}


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, 8), block(8, 16), block(16, 32)
        self.u2, self.u1 = block(32 + 16, 16), block(16 + 8, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        a = self.u1(torch.cat([F.interpolate(b, scale_factor=2), a], 1))
        return self.out(a)


def dice_loss(logits, y, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * y).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + y.sum((1, 2, 3)) + eps)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(16.), torch.arange(16.), indexing="ij")
    data = []
    for _ in range(5):
        c = torch.rand(8, 2) * 10 + 3
        m = (((yy - c[:, 0, None, None]) ** 2 + (xx - c[:, 1, None, None]) ** 2) < 5).float()[:, None]
        data.append({"image": m + 0.4 * torch.randn(8, 1, 16, 16), "mask": m})
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        logits = model(batch["image"])
        return dice_loss(logits, batch["mask"]) + F.binary_cross_entropy_with_logits(logits, batch["mask"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
