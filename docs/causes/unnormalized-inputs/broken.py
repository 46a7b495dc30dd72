"""Digits as they come out of the file: pixels from 0 to 255."""

import torch
from torch import nn

from pytest_trainhealth import Training


def digits(count=32):
    """Bright strokes on black, 12 by 12 pixels."""
    strokes = torch.rand(count, 1, 12, 12) < 0.3
    return strokes * torch.randint(100, 256, (count, 1, 12, 12)), torch.randint(10, (count,))


def training():
    images, labels = digits()
    inputs = images.float()
    model = nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(inputs, labels))
