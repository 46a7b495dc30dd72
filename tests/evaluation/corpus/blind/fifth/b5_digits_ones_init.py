"""8x8 digit classification with a small CNN whose layers are initialised by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_digits_ones_init",
    "source": "CASES.md: TheDeepChecker 48027263 / 36127436, DeepCrime change_weights_initialisation, C3",
    "roots": ["bad-initialization"],
    "description": "every weight starts at the same constant, so all filters and hidden units stay identical",
    "location": "init_weights (nn.init.constant_)",
    "shows_in": "one-batch",
}


class DigitNet(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 4, 48)
        self.fc2 = nn.Linear(48, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


def digits(n, g):
    templates = torch.rand(10, 1, 8, 8, generator=torch.Generator().manual_seed(7)).round()
    y = torch.randint(0, 10, (n,), generator=g)
    x = templates[y] + 0.25 * torch.randn(n, 1, 8, 8, generator=g)
    return (x - 0.5) / 0.5, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(100 + seed)
    x, y = digits(6 * 40, g)
    data = [{"image": a, "label": b} for a, b in zip(x.split(40), y.split(40))]
    model = DigitNet()

    def init_weights(m):
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            if fixed:
                nn.init.kaiming_normal_(m.weight)
            else:
                nn.init.constant_(m.weight, 0.05)
            nn.init.zeros_(m.bias)

    model.apply(init_weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(net, batch):
        return F.cross_entropy(net(batch["image"]), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
