"""A head with its own learning rate: a second optimizer, next to the one that holds the whole model."""

import torch
from torch import nn

from pytest_trainhealth import Training


def training():
    body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
    head = nn.Linear(48, 3)
    model = nn.Sequential(body, head)
    slow = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    fast = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)
    centers = 2 * torch.randn(3, 12)
    labels = [torch.randint(3, (32,)) for _ in range(8)]
    batches = [(centers[y] + torch.randn(32, 12), y) for y in labels]
    return Training(model, [slow, fast], criterion=nn.CrossEntropyLoss(), data=batches)
