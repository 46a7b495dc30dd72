"""Linear probe on a frozen, pretrained convolutional backbone."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_frozen_bn",
    "source": "CASES.md C 52282108 (accuracy drops while finetuning: batchnorm); PyTorch forum classic",
    "roots": ["frozen-parameters-change"],
    "description": "the backbone's weights are frozen, but its BatchNorm layers stay in train mode and their statistics move",
    "location": "Probe.backbone BatchNorm running_mean/running_var",
    "shows_in": "wiring",
}


class Probe(nn.Module):
    def __init__(self, backbone, n_classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, n_classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(),
    )


def textures(n, n_classes, size=12, gain=1.0):
    kernels = torch.randn(n_classes, 1, 3, 3)
    label = torch.randint(0, n_classes, (n,))
    noise = torch.randn(1, n, size, size)
    img = F.conv2d(noise, kernels[label], padding=1, groups=n)
    return gain * img.view(n, 1, size, size), label


def pretrain(backbone):
    x, y = textures(192, 8)
    net = nn.Sequential(backbone, nn.Linear(32, 8))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for i in range(60):
        j = i % 6 * 32
        opt.zero_grad()
        F.cross_entropy(net(x[j:j + 32]), y[j:j + 32]).backward()
        opt.step()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    backbone = make_backbone()
    pretrain(backbone)
    for p in backbone.parameters():
        p.requires_grad = False
    model = Probe(backbone, 4)
    x, y = textures(8 * 24, 4, gain=1.5)
    data = list(zip(x.split(24), y.split(24)))
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)

    def step(batch):
        model.train()
        if fixed:
            model.backbone.eval()
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
