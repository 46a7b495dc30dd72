"""Small colour-image classifier with a custom weight initialiser."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_cifar_kernel_ones",
    "source": "CASES.md G C3 (cifar10, ones init in layer 2)",
    "roots": ["bad-initialization"],
    "description": "every convolution is filled with one constant: all channels are alike for ever",
    "location": "init_weights: nn.init.constant_ on the conv kernels",
    "shows_in": "one-batch",
}


class SmallVGG(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.conv3 = nn.Conv2d(24, 32, 3, padding=1)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.conv3(x)).mean(dim=(2, 3))
        return self.fc(x)


def init_weights(m, fixed):
    if isinstance(m, nn.Conv2d):
        if fixed:
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        else:
            nn.init.constant_(m.weight, 0.05)
        nn.init.zeros_(m.bias)


def make_data(g, n_batches=8, batch=32):
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    angle = torch.arange(8) * torch.pi / 8
    wave = 0.9 * (torch.cos(angle)[:, None, None] * xx + torch.sin(angle)[:, None, None] * yy)
    colour = torch.randn(8, 3, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 8, (batch,), generator=g)
        phase = 6.28 * torch.rand(batch, 1, 1, generator=g)
        x = torch.sin(wave[y] + phase)[:, None] * (1 + 0.5 * colour[y])[:, :, None, None]
        x = x + 0.2 * torch.randn(batch, 3, 12, 12, generator=g)
        x = x - x.mean(dim=(1, 2, 3), keepdim=True)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 2)
    data = make_data(g)
    model = SmallVGG()
    model.apply(lambda m: init_weights(m, fixed))
    if not fixed:
        nn.init.constant_(model.fc.weight, 0.05)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
