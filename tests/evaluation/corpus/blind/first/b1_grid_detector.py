"""Single-shot grid detector: objectness and box for each cell."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_grid_detector",
    "source": "own experience: RetinaNet prior bias set on every convolution; CASES.md C 49891163 (dead relu)",
    "roots": ["dead-activations", "bad-initialization"],
    "description": "the prior-probability bias meant for the objectness head is set on the trunk too: its ReLUs output zero",
    "location": "init_prior: loop over all Conv2d",
    "shows_in": "one-batch",
}


class GridDetector(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU(),
        )
        self.obj = nn.Conv2d(2 * width, 1, 1)
        self.box = nn.Conv2d(2 * width, 4, 1)

    def forward(self, x):
        f = self.trunk(x)
        return self.obj(f).squeeze(1), self.box(f)


def init_prior(module, prior=0.01):
    bias = -torch.log(torch.tensor((1 - prior) / prior))
    for m in module.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.constant_(m.bias, float(bias))


def make_scenes(n, cells=5, stride=4):
    size = cells * stride
    img = 0.1 * torch.randn(n, 1, size, size)
    obj = torch.zeros(n, cells, cells)
    box = torch.zeros(n, 4, cells, cells)
    for i in range(n):
        for _ in range(3):
            w, h = torch.randint(3, 8, (2,)).tolist()
            x = int(torch.randint(0, size - w + 1, (1,)))
            y = int(torch.randint(0, size - h + 1, (1,)))
            gx, gy = int((x + w / 2) // stride), int((y + h / 2) // stride)
            if obj[i, gy, gx]:
                continue
            img[i, 0, y:y + h, x:x + w] += 1.0
            obj[i, gy, gx] = 1
            box[i, :, gy, gx] = torch.tensor([(x + w / 2) / stride - gx, (y + h / 2) / stride - gy, w / 8, h / 8])
    return (img - 0.2) / 0.5, obj, box


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, obj, box = make_scenes(8 * 16)
    data = [{"image": a, "obj": b, "box": c} for a, b, c in zip(img.split(16), obj.split(16), box.split(16))]
    model = GridDetector()
    init_prior(model.obj if fixed else model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        obj, box = model(batch["image"])
        obj_loss = F.binary_cross_entropy_with_logits(obj, batch["obj"])
        pos = batch["obj"].unsqueeze(1)
        box_loss = (F.smooth_l1_loss(box, batch["box"], reduction="none") * pos).sum() / pos.sum()
        return obj_loss + box_loss

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
