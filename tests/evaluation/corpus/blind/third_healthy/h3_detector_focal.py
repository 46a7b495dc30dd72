import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_detector_focal", "source": "healthy; anchor-free one-stage detector (FCOS-like)",
        "roots": [], "checks": [], "description": "focal loss normalised by positives plus smooth L1 on positives, prior-probability bias", "location": ""}


class Detector(nn.Module):
    def __init__(self, prior=0.05):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1),
                                      nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        self.cls, self.box = nn.Conv2d(32, 1, 1), nn.Conv2d(32, 2, 1)
        nn.init.constant_(self.cls.bias, -torch.log(torch.tensor((1 - prior) / prior)).item())

    def forward(self, x):
        f = self.backbone(x)
        return self.cls(f).squeeze(1), self.box(f)


def focal(logit, t, alpha=0.6, gamma=2.0):
    ce = F.binary_cross_entropy_with_logits(logit, t, reduction="none")
    p = logit.sigmoid()
    pt = p * t + (1 - p) * (1 - t)
    return ((alpha * t + (1 - alpha) * (1 - t)) * (1 - pt) ** gamma * ce).sum()


def loss_fn(model, batch):
    cls, box = model(batch["image"])
    npos = batch["heat"].sum().clamp(min=1)
    pos = batch["heat"].bool()
    reg = F.smooth_l1_loss(box.permute(0, 2, 3, 1)[pos], batch["size"][pos], reduction="sum", beta=0.3) / npos
    return focal(cls, batch["heat"], gamma=2.0) / npos + 0.5 * reg


def make(n, g, S=12):
    img = 0.15 * torch.randn(n, 1, S, S, generator=g)
    heat, size = torch.zeros(n, S // 2, S // 2), torch.zeros(n, S // 2, S // 2, 2)
    for i in range(n):
        for half in range(2):
            w, h = torch.randint(1, 3, (2,), generator=g).tolist()
            cy, cx = int(torch.randint(2, 10, (1,), generator=g)), int(torch.randint(2, 4, (1,), generator=g)) + 6 * half
            img[i, 0, max(cy - h, 0):cy + h + 1, max(cx - w, 0):cx + w + 1] += 1.0
            heat[i, cy // 2, cx // 2] = 1
            size[i, cy // 2, cx // 2] = torch.tensor([w, h]).float()
    return {"image": img, "heat": heat, "size": size}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 30)
    net = Detector()
    return {"model": net, "optimizer": torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=1e-4),
            "data": [make(16, g) for _ in range(30)], "loss": loss_fn}
