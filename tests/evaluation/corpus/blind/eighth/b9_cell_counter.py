import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_cell_counter", "source": "RetinaNet/CenterNet ports: prior-probability bias set on every convolution",
        "roots": ["dead-activations", "bad-initialization"], "checks": [],
        "description": "the prior bias of the last layer (-log((1-p)/p)) is set in every convolution, so that the ReLUs before it output 0 everywhere",
        "location": "HeatmapNet.reset_parameters"}


class HeatmapNet(nn.Module):
    """Predicts a heatmap of cell centres."""

    def __init__(self, ch=20, prior=0.01, fixed=False):
        super().__init__()
        self.c1 = nn.Conv2d(1, ch, 3, padding=1)
        self.c2 = nn.Conv2d(ch, ch, 3, padding=2, dilation=2)
        self.c3 = nn.Conv2d(ch, ch, 3, padding=1)
        self.head = nn.Conv2d(ch, 1, 1)
        self.reset_parameters(prior, fixed)

    def reset_parameters(self, prior, fixed):
        bias_value = -math.log((1 - prior) / prior)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.constant_(m.bias, 0.0 if fixed else bias_value)
        nn.init.normal_(self.head.weight, std=0.05)
        nn.init.constant_(self.head.bias, bias_value)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        x = F.relu(self.c3(x))
        return self.head(x)


def centernet_focal(logits, heat):
    p = torch.sigmoid(logits).clamp(1e-4, 1 - 1e-4)
    pos = (heat > 0.99).float()
    pos_loss = -(torch.log(p) * (1 - p) ** 2 * pos).sum()
    neg_loss = -(torch.log(1 - p) * p ** 2 * (1 - heat) ** 4 * (1 - pos)).sum()
    return (pos_loss + neg_loss) / pos.sum().clamp(min=1)


def microscope(n, seed, size=16):
    g = torch.Generator().manual_seed(seed + 37)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    imgs, heats = [], []
    for _ in range(n):
        img, heat = torch.zeros(size, size), torch.zeros(size, size)
        for _ in range(int(torch.randint(2, 5, (1,), generator=g))):
            cy, cx = torch.randint(2, size - 2, (2,), generator=g).tolist()
            d = (yy - cy) ** 2 + (xx - cx) ** 2
            img = torch.maximum(img, torch.exp(-d / 5))
            heat = torch.maximum(heat, torch.exp(-d / 1.5))
        imgs.append(img + 0.1 * torch.randn(size, size, generator=g))
        heats.append(heat)
    imgs = torch.stack(imgs).unsqueeze(1)
    return (imgs - imgs.mean()) / imgs.std(), torch.stack(heats).unsqueeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    net = HeatmapNet(fixed=fixed)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, 1.0, total_iters=20)
    x, h = microscope(256, seed)
    return {"model": net, "optimizer": optimizer, "scheduler": scheduler, "data": list(zip(x.split(16), h.split(16))),
            "loss": lambda m, b: centernet_focal(m(b[0]), b[1])}
