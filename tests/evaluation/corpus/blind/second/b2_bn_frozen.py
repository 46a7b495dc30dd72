"""Transfer learning: frozen conv backbone with BatchNorm, new head."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_bn_frozen",
    "source": "own experience (frozen BatchNorm left in train mode), cf. open-mmlab/mmpretrain #702",
    "roots": ["frozen-parameters-change"],
    "description": "the backbone is frozen with requires_grad=False but stays in train mode, so its BatchNorm statistics keep moving",
    "location": "backbone BatchNorm running_mean, running_var",
    "shows_in": "wiring",
}


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )

    def forward(self, x):
        return self.layers(x)


class TransferNet(nn.Module):
    def __init__(self, backbone, n_classes=4):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, n_classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrained_backbone():
    backbone = Backbone()
    with torch.no_grad():
        for _ in range(20):
            backbone(0.5 + 0.3 * torch.randn(16, 3, 12, 12))
    return backbone


def make_data(n_batches=6, batch_size=24):
    colours = 1.5 * torch.randn(4, 3, 1, 1)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 4, (batch_size,))
        x = colours[y] + 0.5 * torch.randn(batch_size, 3, 12, 12)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TransferNet(pretrained_backbone())
    for p in model.backbone.parameters():
        p.requires_grad = False
    optimizer = torch.optim.Adam(model.head.parameters(), lr=3e-3)

    def step(batch):
        model.train()
        if fixed:
            model.backbone.eval()
        x, y = batch
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
