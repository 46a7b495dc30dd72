"""Thermal image classification, pixels scaled inside the loss function."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_inplace_scale",
    "source": "own experience; cf. CASES.md double_normalization",
    "roots": ["in-place-modification"],
    "description": "sub_/div_ standardise the cached batch in place, so every pass standardises it once more",
    "location": "loss(): image.sub_(MEAN).div_(STD)",
    "shows_in": "one-batch",
}

MEAN, STD = 120.0, 55.0


class ThermalNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def thermal(n, classes=5):
    label = torch.randint(0, classes, (n,))
    spot = torch.randn(classes, 1, 12, 12)
    pixels = MEAN + STD * (0.8 * spot[label] + 0.5 * torch.randn(n, 1, 12, 12))
    return pixels.clamp(0, 255), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    pixels, label = thermal(256)
    data = []
    for i in range(0, 256, 32):
        data.append({"image": pixels[i:i + 32].clone(), "label": label[i:i + 32]})
    model = ThermalNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        image = batch["image"]
        if fixed:
            image = image.sub(MEAN).div(STD)
        else:
            image = image.sub_(MEAN).div_(STD)
        return F.cross_entropy(model(image), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
