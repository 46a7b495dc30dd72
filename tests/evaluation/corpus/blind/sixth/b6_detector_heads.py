"""One-object detector: a shared trunk with a class head and a box head."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_detector_heads",
    "source": "multi-loss loops with a helper that does zero_grad + backward per loss (own experience with multi-task code)",
    "roots": ["gradients-cleared-before-step"],
    "checks": [],
    "description": "The helper clears the gradients before each backward, so those of the class loss are gone when the optimizer steps.",
    "location": "backprop: optimizer.zero_grad()",
}


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.cls = nn.Linear(16 * 36, classes)
        self.box = nn.Linear(16 * 36, 2)

    def forward(self, x):
        f = self.trunk(x)
        return self.cls(f), self.box(f)


def scenes(n, gen):
    x = 0.1 * torch.randn(n, 1, 12, 12, generator=gen)
    y = torch.randint(0, 3, (n,), generator=gen)
    c = torch.randint(2, 10, (n, 2), generator=gen)
    for i in range(n):
        r, k = int(c[i, 0]), int(c[i, 1])
        if y[i] == 0:
            x[i, 0, r - 1:r + 2, k - 1:k + 2] += 1
        elif y[i] == 1:
            x[i, 0, r - 2:r + 3, k] += 1
        else:
            x[i, 0, r, k - 2:k + 3] += 1
    return {"image": x, "label": y, "center": c.float() / 6 - 1}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [scenes(24, gen) for _ in range(8)]
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def backprop(loss, retain=False):
        if not fixed:
            optimizer.zero_grad()
        loss.backward(retain_graph=retain)

    def step(batch):
        if fixed:
            optimizer.zero_grad()
        logits, center = model(batch["image"])
        cls_loss = F.cross_entropy(logits, batch["label"])
        box_loss = F.mse_loss(center, batch["center"])
        backprop(cls_loss, retain=True)
        backprop(5 * box_loss)
        optimizer.step()
        return cls_loss.detach() + 5 * box_loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
