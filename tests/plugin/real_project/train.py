"""Trainings of a user, healthy and not; copied beside the tests of inner runs that use the real engine."""

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training


def batch():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(16, 8, generator=generator), torch.randint(0, 4, (16,), generator=generator)


def network():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))


def make_training():
    model = network()
    return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=F.cross_entropy, data=batch())


def without_head():
    model = network()
    model.requires_grad_(False)
    model[2].requires_grad_(True)
    optimizer = torch.optim.Adam(model[2].parameters(), 1e-2)
    model[2] = nn.Linear(32, 4)
    return Training(model, optimizer, criterion=F.cross_entropy, data=batch())


def fit(rate=1e-2, steps=30):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), rate)
    inputs, targets = batch()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()


def breaking():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)

    def loss(model, batch):
        raise RuntimeError("the tokenizer is not there")

    return Training(model, optimizer, loss, batch())
