"""A detector whose last layer starts with rare positives."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

PRIOR = 0.01  # of all positions that hold an object


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.score = nn.Conv2d(8, 1, 1)
        for layer in [self.score]:
            nn.init.constant_(layer.bias, -math.log((1 - PRIOR) / PRIOR))

    def forward(self, images):
        x = F.relu(self.conv1(images))
        x = F.relu(self.conv2(x))
        return self.score(x)


def training():
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    images, objects = torch.randn(4, 3, 8, 8), (torch.rand(4, 1, 8, 8) < 0.1).float()
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=(images, objects))
