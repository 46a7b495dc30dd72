import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "t9_roof_masks", "source": "aerial image segmentation, noise injection while training", "roots": [],
        "checks": ["generalizes"], "description": "healthy: noise is added to training tiles by the model itself, validation tiles stay clean", "location": ""}


def tiles(n, g):
    img = torch.zeros(n, 3, 16, 16)
    mask = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        ground = torch.rand(3, 1, 1, generator=g) * 0.5 + torch.tensor([0.1, 0.4, 0.1]).view(3, 1, 1)
        img[i] = ground
        for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
            y, x = torch.randint(0, 11, (2,), generator=g).tolist()
            h, w = torch.randint(3, 7, (2,), generator=g).tolist()
            img[i, :, y:y + h, x:x + w] = torch.tensor([0.9, 0.35, 0.3]).view(3, 1, 1)
            mask[i, 0, y:y + h, x:x + w] = 1
    img = img + 0.08 * torch.randn(img.shape, generator=g)
    return (img - 0.5) / 0.25, mask


class SmallUNet(nn.Module):
    def __init__(self, c=8, noise=0.3):
        super().__init__()
        self.enc = nn.Conv2d(3, c, 3, padding=1)
        self.mid = nn.Conv2d(c, 2 * c, 3, padding=1)
        self.dec = nn.Conv2d(3 * c, c, 3, padding=1)
        self.out = nn.Conv2d(c, 1, 1)
        self.noise = noise

    def forward(self, x):
        if self.training:
            x = x + self.noise * torch.randn_like(x)
        a = F.relu(self.enc(x))
        b = F.relu(self.mid(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2)
        return self.out(F.relu(self.dec(torch.cat([a, b], 1))))


def bce_dice(model, batch):
    x, y = batch
    z = model(x)
    p = torch.sigmoid(z)
    dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
    return F.binary_cross_entropy_with_logits(z, y) + dice


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 73)
    x, y = tiles(640, g)
    vx, vy = tiles(128, g)
    net = SmallUNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    return {"model": net, "optimizer": opt, "data": list(zip(x.split(16), y.split(16))),
            "val": list(zip(vx.split(16), vy.split(16))), "loss": bce_dice}
