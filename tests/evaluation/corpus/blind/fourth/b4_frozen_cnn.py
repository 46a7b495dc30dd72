"""CNN texture classifier whose body is built fresh (no pretrained weights at hand)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_frozen_cnn",
    "source": "own experience; forum pattern 'feature_extract=True left on after pretrained=False'",
    "roots": ["frozen-parameters"],
    "description": "the freezing helper from transfer learning is still applied although the body is randomly initialised",
    "location": "body (all parameters)",
    "shows_in": "one-batch",
}


class TextureNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(),
            nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.body(x))


def set_requires_grad(module, feature_extracting):
    if feature_extracting:
        for p in module.parameters():
            p.requires_grad = False


def gratings(n, classes=6, size=20):
    label = torch.randint(0, classes, (n,))
    angle = label.float() * torch.pi / classes
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    arg = 1.4 * (torch.cos(angle)[:, None, None] * xx + torch.sin(angle)[:, None, None] * yy)
    phase = torch.rand(n, 1, 1) * 6.28
    return torch.sin(arg + phase)[:, None] + 0.1 * torch.randn(n, 1, size, size), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = gratings(256)
    data = [(x[i:i + 32], y[i:i + 32]) for i in range(0, 256, 32)]
    model = TextureNet()
    set_requires_grad(model.body, feature_extracting=not fixed)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=5e-3)

    def loss(model, batch):
        return F.cross_entropy(model(batch[0]), batch[1])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
