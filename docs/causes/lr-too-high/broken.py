"""A small image classifier, with the learning rate of a recipe for batches of 8,192 images."""

import torch
from torch import nn

from pytest_trainhealth import Training


def training():
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 2 * 2, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=3.2, momentum=0.9)
    images, labels = torch.randn(32, 1, 12, 12), torch.randint(10, (32,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(images, labels))
