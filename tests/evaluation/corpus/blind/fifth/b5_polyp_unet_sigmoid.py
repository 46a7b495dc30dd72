"""Polyp segmentation with a small U-Net."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_polyp_unet_sigmoid",
    "source": "avBuffer/UNet3plus_pth #23, GSCNN #62, YOLOP #141 (sigmoid in the model and BCEWithLogitsLoss)",
    "roots": ["double-softmax"],
    "description": "the model already returns sigmoid probabilities, BCEWithLogitsLoss applies the sigmoid once more",
    "location": "UNet.forward (torch.sigmoid) with nn.BCEWithLogitsLoss",
    "shows_in": "one-batch",
}


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, probs=True):
        super().__init__()
        self.probs = probs
        self.inc = DoubleConv(3, 8)
        self.down = DoubleConv(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv = DoubleConv(16, 8)
        self.outc = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        x = self.conv(torch.cat([x1, self.up(x2)], dim=1))
        x = self.outc(x)
        return torch.sigmoid(x) if self.probs else x


def endoscopy(n, size, g):
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    c = torch.rand(n, 2, 1, 1, generator=g) - 0.5
    r = 0.25 + 0.25 * torch.rand(n, 1, 1, generator=g)
    mask = (((xx - c[:, 0]) ** 2 + (yy - c[:, 1]) ** 2) < r ** 2).float().unsqueeze(1)
    tint = torch.tensor([1.0, -0.5, 0.3]).view(1, 3, 1, 1)
    img = mask * tint + 0.4 * torch.randn(n, 3, size, size, generator=g)
    return img, mask


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    img, mask = endoscopy(5 * 8, 16, g)
    data = [{"image": a, "mask": b} for a, b in zip(img.split(8), mask.split(8))]
    model = UNet(probs=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        return criterion(model(batch["image"]), batch["mask"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
