"""A small network for images of 12 by 12. Its last layer gets what pooling leaves of them."""

import torch
from torch import nn

from pytest_trainhealth import Training


def images(count):
    labels = torch.randint(4, (count,))
    pictures = 0.3 * torch.randn(count, 1, 12, 12)
    for picture, label in zip(pictures, labels, strict=True):
        picture[0, 3 * label : 3 * label + 3] += 1.0  # a stripe, higher or lower
    return pictures, labels


def training():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 6 * 6, 4),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    pictures, labels = images(256)
    batches = list(zip(pictures.split(32), labels.split(32), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
