"""Single-object detection: box regression and class prediction from one trunk."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_box_and_class",
    "source": "own experience (one zero_grad per loss)",
    "roots": ["gradients-cleared-before-step"],
    "description": "the gradient of the box loss is cleared before the class loss is propagated; only the class loss is ever followed",
    "location": "step: second optimizer.zero_grad()",
    "shows_in": "one-batch",
}


class BoxNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(24 * 16, 64), nn.ReLU(),
        )
        self.box = nn.Linear(64, 4)
        self.cls = nn.Linear(64, n_classes)

    def forward(self, x):
        h = self.trunk(x)
        return self.box(h), self.cls(h)


def scenes(g, n_batches=6, batch=24, size=16):
    data = []
    for _ in range(n_batches):
        x = 0.1 * torch.randn(batch, 1, size, size, generator=g)
        cls = torch.randint(0, 3, (batch,), generator=g)
        box = torch.zeros(batch, 4)
        for i in range(batch):
            w, h = torch.randint(3, 8, (2,), generator=g).tolist()
            left = int(torch.randint(0, size - w, (1,), generator=g))
            top = int(torch.randint(0, size - h, (1,), generator=g))
            patch = x[i, 0, top:top + h, left:left + w]
            patch += 1.0 if cls[i] == 0 else (-1.0 if cls[i] == 1 else 0.0)
            if cls[i] == 2:
                patch[::2] += 1.0
            box[i] = torch.tensor([left, top, w, h]) / size
        data.append({"image": x, "box": 4 * box - 1, "cls": cls})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 73)
    data = scenes(g)
    model = BoxNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(batch):
        box, cls = model(batch["image"])
        box_loss = F.smooth_l1_loss(box, batch["box"])
        cls_loss = F.cross_entropy(cls, batch["cls"])
        optimizer.zero_grad()
        box_loss.backward(retain_graph=True)
        if not fixed:
            optimizer.zero_grad()
        cls_loss.backward()
        optimizer.step()
        return (box_loss + cls_loss).detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
