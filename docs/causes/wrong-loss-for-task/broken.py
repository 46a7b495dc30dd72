"""Is this message spam? One output, and a loss for one class out of several."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class Spam(nn.Module):
    def __init__(self, words=30):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(words, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, counts):
        return self.layers(counts)


def loss(model, batch):
    counts, is_spam = batch
    return F.cross_entropy(model(counts), is_spam)


def training():
    is_spam = torch.randint(2, (64, 1)).float()
    counts = torch.poisson(torch.where(is_spam > 0, torch.linspace(0.1, 3, 30), torch.linspace(3, 0.1, 30)))
    model = Spam()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches = list(zip(counts.split(16), is_spam.split(16), strict=True))
    return Training(model, optimizer, loss=loss, data=batches)
