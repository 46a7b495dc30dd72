"""Small ResNet with a one-cycle schedule per batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_onecycle_resnet",
    "description": 'OneCycleLR stepped after every batch: the rate starts at 1/25 of its top and cycles momentum too; after the cycle the rate stays at its tiny end value.',
    "roots": [],
}


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.n1, self.n2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
        nn.init.zeros_(self.n2.weight)

    def forward(self, x):
        return F.relu(x + self.n2(self.b(F.relu(self.n1(self.a(x))))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    templates = torch.randn(5, 3, 8, 8)
    data = []
    for _ in range(6):
        y = torch.randint(0, 5, (16,))
        data.append((templates[y] + 0.8 * torch.randn(16, 3, 8, 8), y))
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Res(16), nn.MaxPool2d(2), Res(16), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    total = 200
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=total)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if scheduler.last_epoch < total - 1:
            scheduler.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
