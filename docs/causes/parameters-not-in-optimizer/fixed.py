"""Fine-tuning: a network trained on 1000 classes gets a new head for ten."""

import torch
from torch import nn

from pytest_trainhealth import Training


class ImageNet(nn.Module):
    """Stands for a pretrained network from a model zoo."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU())
        self.head = nn.Linear(32, 1000)

    def forward(self, images):
        return self.head(self.body(images).mean((2, 3)))


def training():
    model = ImageNet()
    model.head = nn.Linear(32, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    images, labels = torch.randn(16, 3, 16, 16), torch.randint(10, (16,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(images, labels))
