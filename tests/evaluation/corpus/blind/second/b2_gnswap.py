"""Small CNN on textures; BatchNorm is swapped for GroupNorm before private training."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_gnswap",
    "source": "meta-pytorch/opacus #432",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the norm layers are replaced after the optimizer was made, so it holds the old layers' parameters and not the new ones'",
    "location": "norm1, norm2 (GroupNorm weight and bias)",
    "shows_in": "wiring",
}


class TextureNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def to_group_norm(module):
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(module, name, nn.GroupNorm(4, child.num_features))
        else:
            to_group_norm(child)
    return module


def make_data(n_batches=6, batch_size=24):
    t = torch.arange(16).float()
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 4, (batch_size,))
        angle = y.float() * torch.pi / 4
        phase = torch.rand(batch_size) * 6.28
        grid = torch.cos(angle)[:, None, None] * t[None, :, None] + torch.sin(angle)[:, None, None] * t[None, None, :]
        x = torch.sin(1.2 * grid + phase[:, None, None]) + 0.3 * torch.randn(batch_size, 16, 16)
        data.append((x.unsqueeze(1), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TextureNet()
    if fixed:
        model = to_group_norm(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        model = to_group_norm(model)

    def loss(model, batch):
        images, labels = batch
        return F.cross_entropy(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
