import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_detector_box_sum",
        "source": "detection heads: box loss with reduction='sum' that is not divided by the number of objects, classification averaged",
        "roots": ["loss-reduction"], "checks": ["accumulates_exactly"],
        "description": "The box term is a sum over the batch while the class term is a mean, so its weight depends on the batch size and micro-batches do not make up one batch.",
        "location": "SetCriterion.forward: box"}


class SetCriterion(nn.Module):
    def __init__(self, w_box=1.0, per_object=False):
        super().__init__()
        self.w_box, self.per_object = w_box, per_object

    def forward(self, cls, box, labels, boxes):
        ce = F.cross_entropy(cls, labels)
        l1 = F.smooth_l1_loss(box, boxes, reduction="sum")
        if self.per_object:
            l1 = l1 / labels.numel()
        return ce + self.w_box * l1


class TinyDetector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten())
        self.fc = nn.Sequential(nn.Linear(16 * 25, 64), nn.ReLU())
        self.cls, self.box = nn.Linear(64, classes), nn.Linear(64, 2)

    def forward(self, img):
        h = self.fc(self.conv(img))
        return self.cls(h), self.box(h)


def make_scene(g, n):
    stamps = torch.tensor([[[1., 1, 1], [1, 0, 1], [1, 1, 1]], [[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[1, 0, 1], [0, 1, 0], [1, 0, 1]]])
    y = torch.randint(0, 3, (n,), generator=g)
    pos = torch.randint(0, 8, (n, 2), generator=g)
    img = 0.15 * torch.randn(n, 1, 10, 10, generator=g)
    for i in range(n):
        r, c = pos[i].tolist()
        img[i, 0, r:r + 3, c:c + 3] += 1.5 * stamps[y[i]]
    return {"img": img, "label": y, "box": (pos.float() - 3.5) / 2.3}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 35)
    data = [make_scene(g, 32) for _ in range(20)]
    model = TinyDetector()
    criterion = SetCriterion(per_object=fixed)

    def loss(model, b):
        return criterion(*model(b["img"]), b["label"], b["box"])

    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=2e-3), "data": data, "loss": loss}
