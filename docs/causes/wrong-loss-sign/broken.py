"""Digits, with a log-likelihood by hand. It is to be made large, and the optimizer makes it small."""

import torch
from torch import nn

from pytest_trainhealth import Training


def log_likelihood(scores, labels):
    return torch.log_softmax(scores, dim=1).gather(1, labels[:, None]).mean()


def loss(model, batch):
    images, labels = batch
    return log_likelihood(model(images), labels)


def training():
    prototypes = torch.randn(10, 64)
    labels = torch.randint(10, (64,))
    images = prototypes[labels] + 0.5 * torch.randn(64, 64)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    batches = list(zip(images.split(16), labels.split(16), strict=True))
    return Training(model, optimizer, loss=loss, data=batches)
