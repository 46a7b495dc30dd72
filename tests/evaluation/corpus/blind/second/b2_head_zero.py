"""Fine-tuning in two speeds: backbone and head have their own SGD."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_head_zero",
    "source": "own experience (two optimizers, one zero_grad)",
    "roots": ["missing-zero-grad"],
    "description": "only the head's optimizer is zeroed; the backbone's gradients add up from step to step",
    "location": "backbone_opt.zero_grad() missing",
    "shows_in": "wiring",
}


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, stride=2, padding=1)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1)


class Classifier(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Sequential(nn.Linear(24 * 16, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def make_data(n_batches=6, batch_size=32):
    kinds = torch.randn(5, 1, 16, 16)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        shift = torch.randint(-1, 2, (batch_size,))
        x = torch.stack([kinds[k].roll(int(s), -1) for k, s in zip(y, shift)])
        data.append((x + 0.5 * torch.randn_like(x), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Classifier()
    backbone_opt = torch.optim.SGD(model.backbone.parameters(), lr=0.02, momentum=0.9)
    head_opt = torch.optim.SGD(model.head.parameters(), lr=0.05, momentum=0.9)

    def step(batch):
        x, y = batch
        head_opt.zero_grad()
        if fixed:
            backbone_opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        head_opt.step()
        backbone_opt.step()
        return loss.detach()

    return {"model": model, "optimizer": [backbone_opt, head_opt], "data": data, "step": step}
