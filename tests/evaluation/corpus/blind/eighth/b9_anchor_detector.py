"""One-stage detector on a 6x6 grid, focal loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_anchor_detector", "source": "RetinaNet ports: focal loss reduced by mean and divided by the number of positives",
        "roots": ["loss-reduction", "lr-too-low"], "checks": [],
        "description": "the losses are already means over all cells, and are divided by the number of positive cells once more; with SGD the steps are hundreds of times too small",
        "location": "Criterion.__call__"}

GRID, STRIDE, CLASSES = 6, 4, 3


def focal(logits, target, alpha=0.25, gamma=2.0, reduction="none"):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    at = alpha * target + (1 - alpha) * (1 - target)
    loss = at * (1 - pt) ** gamma * ce
    return {"none": loss, "mean": loss.mean(), "sum": loss.sum()}[reduction]


class Criterion:
    def __init__(self, fixed):
        self.reduction = "sum" if fixed else "mean"

    def __call__(self, cls, box, t_cls, t_box):
        pos = t_cls.sum(1) > 0
        num_pos = pos.sum().clamp(min=1)
        l_cls = focal(cls, t_cls, reduction=self.reduction)
        l_box = F.smooth_l1_loss(box.permute(0, 2, 3, 1)[pos], t_box.permute(0, 2, 3, 1)[pos], reduction=self.reduction)
        return l_cls / num_pos + l_box / num_pos


class Detector(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        def cbr(i, o, s):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.GroupNorm(4, o), nn.ReLU())
        self.backbone = nn.Sequential(cbr(3, ch, 2), cbr(ch, ch, 2), cbr(ch, ch, 1))
        self.cls_head = nn.Conv2d(ch, CLASSES, 3, padding=1)
        self.box_head = nn.Conv2d(ch, 4, 3, padding=1)
        nn.init.normal_(self.cls_head.weight, std=0.01)
        nn.init.constant_(self.cls_head.bias, -2.0)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls_head(f), self.box_head(f)


def scenes(n, seed):
    g = torch.Generator().manual_seed(seed + 71)
    size = GRID * STRIDE
    img = 0.1 * torch.randn(n, 3, size, size, generator=g)
    t_cls, t_box = torch.zeros(n, CLASSES, GRID, GRID), torch.zeros(n, 4, GRID, GRID)
    for i in range(n):
        for _ in range(2):
            k = int(torch.randint(0, CLASSES, (1,), generator=g))
            w, h = (torch.randint(4, 9, (2,), generator=g)).tolist()
            x0 = int(torch.randint(0, size - w, (1,), generator=g)); y0 = int(torch.randint(0, size - h, (1,), generator=g))
            img[i, k, y0:y0 + h, x0:x0 + w] += 1.0
            cx, cy = x0 + w / 2, y0 + h / 2
            gx, gy = int(cx // STRIDE), int(cy // STRIDE)
            t_cls[i, :, gy, gx] = 0
            t_cls[i, k, gy, gx] = 1
            t_box[i, :, gy, gx] = torch.tensor([cx / STRIDE - gx, cy / STRIDE - gy, w / 8, h / 8])
    return img, t_cls, t_box


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model, criterion = Detector(), Criterion(fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    img, tc, tb = scenes(256, seed)
    data = [{"img": img[i:i + 16], "cls": tc[i:i + 16], "box": tb[i:i + 16]} for i in range(0, 256, 16)]

    def train_step(b):
        cls, box = model(b["img"])
        loss = criterion(cls, box, b["cls"], b["box"])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": train_step}
