"""Sharpness-aware minimisation around SGD."""
import torch
import torch.nn as nn

META = {
    "id": "h_sam_cnn",
    "description": 'Each step climbs to w + e, takes the gradient there, climbs back and steps: two backward passes, parameters changed outside the optimizer and restored.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.fc = nn.Linear(96, 4)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    templates = torch.randn(4, 1, 8, 8)
    data = []
    for _ in range(6):
        y = torch.randint(0, 4, (24,))
        data.append((templates[y] + 0.5 * torch.randn(24, 1, 8, 8), y))
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    rho = 0.05

    def step(batch):
        x, y = batch
        params = list(model.parameters())
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in params]).norm() + 1e-12
        eps = [rho * p.grad / norm for p in params]
        with torch.no_grad():
            for p, e in zip(params, eps):
                p.add_(e)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            for p, e in zip(params, eps):
                p.sub_(e)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
