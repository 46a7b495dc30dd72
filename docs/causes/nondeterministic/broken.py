"""Samples are drawn by a generator that nobody has seeded."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("is_reproducible",)


class Shuffled(torch.utils.data.Sampler):
    def __init__(self, length):
        self.length, self.random = length, np.random.default_rng()

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(self.random.permutation(self.length).tolist())


def training():
    inputs = torch.randn(128, 10)
    data = torch.utils.data.TensorDataset(inputs, inputs[:, :4].argmax(1))
    loader = torch.utils.data.DataLoader(data, batch_size=16, sampler=Shuffled(len(data)))
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=F.cross_entropy, data=loader)
