"""Linear probing: the pretrained backbone is kept as it is, only a new head is trained."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_finetune_bn",
    "source": "CASES.md A mmpretrain-702 kind; own experience (frozen BatchNorm in train mode)",
    "roots": ["frozen-parameters-change"],
    "description": "the backbone's parameters are frozen, but model.train() lets its BatchNorm statistics drift to the new data",
    "location": "step: model.train() without backbone.eval()",
    "shows_in": "wiring",
}


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(),
        )

    def forward(self, x):
        return self.net(x)


class Probe(nn.Module):
    def __init__(self, backbone, n_classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Linear(32 * 9, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def images(g, n_classes, shift, n_batches=6, batch=32):
    pattern = torch.randn(n_classes, 1, 12, 12, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, n_classes, (batch,), generator=g)
        data.append((pattern[y] + 0.5 * torch.randn(batch, 1, 12, 12, generator=g) + shift, y))
    return data


def pretrain(backbone, data, n_classes):
    head = nn.Linear(32 * 9, n_classes)
    opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=2e-3)
    for _ in range(4):
        for x, y in data:
            opt.zero_grad()
            F.cross_entropy(head(backbone(x)), y).backward()
            opt.step()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 26)
    backbone = Backbone()
    pretrain(backbone, images(g, 8, shift=0.0), 8)
    data = images(g, 5, shift=0.6)
    model = Probe(backbone, n_classes=5)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)

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
