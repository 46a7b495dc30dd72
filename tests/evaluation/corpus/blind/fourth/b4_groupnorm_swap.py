"""CNN on small colour images; BatchNorm is swapped for GroupNorm before training."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_groupnorm_swap",
    "source": "CASES.md meta-pytorch/opacus #432",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the optimizer is made before the conversion replaces norm layers and the classifier, so it holds the old tensors",
    "location": "norm layers and fc, created after the optimizer",
    "shows_in": "wiring",
}


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2))


class ColourNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.block1 = conv_block(3, 16)
        self.block2 = conv_block(16, 32)
        self.fc = nn.Linear(32 * 9, classes)

    def forward(self, x):
        return self.fc(self.block2(self.block1(x)).flatten(1))


def convert(model, classes):
    for block in (model.block1, model.block2):
        for i, layer in enumerate(block):
            if isinstance(layer, nn.BatchNorm2d):
                block[i] = nn.GroupNorm(4, layer.num_features)
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    label = torch.randint(0, 5, (256,))
    proto = torch.randn(5, 3, 12, 12)
    x = proto[label] + 0.8 * torch.randn(256, 3, 12, 12)
    data = [(x[i:i + 32], label[i:i + 32]) for i in range(0, 256, 32)]

    model = ColourNet()
    if fixed:
        model = convert(model, classes=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    if not fixed:
        model = convert(model, classes=5)

    def step(batch):
        model.train()
        images, target = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), target)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
