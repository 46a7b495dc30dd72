"""Transfer learning: a backbone trained on many plants, a new head for five of them."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_plant_head",
    "source": "PyTorch forum classic: optimizer built before the head is replaced",
    "roots": ["parameters-not-in-optimizer"],
    "description": "model.fc is replaced after the optimizer was made, so the new head never changes",
    "location": "model.fc",
    "shows_in": "wiring",
}


class Backbone(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.stem(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean(dim=(2, 3)))


def make_leaves(n, n_classes, size=14):
    colour = torch.rand(n_classes, 3, 1, 1)
    freq = torch.rand(n_classes, 2) * 2 + 0.3
    label = torch.randint(0, n_classes, (n,))
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    phase = torch.rand(n, 1, 1) * 6.28
    f = freq[label]
    veins = torch.sin(f[:, :1, None] * xx + f[:, 1:, None] * yy + phase)
    img = colour[label] + 0.4 * veins.unsqueeze(1) + 0.15 * torch.randn(n, 3, size, size)
    return (img - img.mean()) / img.std(), label


def pretrain(model, n_classes, steps=40):
    x, y = make_leaves(128, n_classes)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for i in range(steps):
        j = (i * 32) % 128
        opt.zero_grad()
        F.cross_entropy(model(x[j:j + 32]), y[j:j + 32]).backward()
        opt.step()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = Backbone(n_classes=20)
    pretrain(model, 20)
    head = nn.Linear(32, 5)
    if fixed:
        model.fc = head
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.fc = head

    images, labels = make_leaves(8 * 24, 5)
    data = list(zip(images.split(24), labels.split(24)))

    def loss(model, batch):
        images, labels = batch
        return F.cross_entropy(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
