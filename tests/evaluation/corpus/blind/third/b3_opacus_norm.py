"""Classifier whose BatchNorm layers are exchanged for GroupNorm, with a fresh head for the new task."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_opacus_norm",
    "source": "CASES.md I meta-pytorch/opacus #432",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the optimizer is made before norm layers and the head are replaced: the new ones are never updated",
    "location": "build: optimizer created before adapt(model); model.head and the GroupNorms",
    "shows_in": "wiring",
}


class ConvNet(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.head = nn.Linear(32 * 16, n_classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        return self.head(x.flatten(1))


def adapt(model, n_classes):
    for name in ("norm1", "norm2"):
        channels = getattr(model, name).num_features
        setattr(model, name, nn.GroupNorm(4, channels))
    model.head = nn.Linear(model.head.in_features, n_classes)
    return model


def make_data(g, n_batches=8, batch=24):
    pattern = torch.randn(6, 3, 8, 8, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch,), generator=g)
        data.append((pattern[y] + 0.7 * torch.randn(batch, 3, 8, 8, generator=g), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 16)
    data = make_data(g)
    model = ConvNet()
    if fixed:
        model = adapt(model, 6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        model = adapt(model, 6)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
