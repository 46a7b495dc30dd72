"""Smoke test of a small ResNet."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_resnet",
    "description": 'torch.randn images with random labels to see that forward and backward run.',
    "roots": [],
}


class BasicBlock(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.short = nn.Sequential()
        if stride != 1 or i != o:
            self.short = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.short(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [(torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))) for _ in range(4)]
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), BasicBlock(16, 16), BasicBlock(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def loss(model, batch):
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
