"""A pretrained backbone is frozen, and a new head is trained on it."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class Classifier(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.head = nn.Linear(32, 4)

    def forward(self, images):
        return self.head(self.backbone(images))


def pretrained():
    """Stands for weights from a file."""
    net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for _ in range(20):
        net(torch.randn(16, 1, 8, 8))
    return net


def training():
    model = Classifier(pretrained())
    optimizer = torch.optim.Adam(model.head.parameters(), lr=0.05)

    def step(batch):
        model.train()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    stripes = torch.sin(torch.arange(8) * torch.tensor([0.4, 0.9, 1.6, 3.1])[:, None])[:, None, None, :]
    labels = [torch.randint(4, (16,)) for _ in range(8)]
    batches = [(3 * stripes[y] + 0.3 * torch.randn(16, 1, 8, 8), y) for y in labels]
    return Training(model, optimizer, step=step, data=batches)
