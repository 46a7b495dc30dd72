"""Pages from a scanner, each standardised on its own. Blank ones are left out."""

import torch
from torch import nn

from pytest_trainhealth import Training


def scan(pages):
    images = torch.rand(pages, 1, 8, 8)
    images[pages // 2] = 1.0  # nothing on it
    return images, torch.randint(10, (pages,))


def standardize(images):
    mean, std = images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True)
    return (images - mean) / std


def training():
    images, labels = scan(64)
    written = images.std((1, 2, 3)) > 0
    images, labels = images[written], labels[written]
    images = standardize(images)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = list(zip(images.split(16), labels.split(16), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
