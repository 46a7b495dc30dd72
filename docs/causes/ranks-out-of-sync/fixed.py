"""Every rank has samples of its own, and DistributedDataParallel averages the gradients."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from pytest_trainhealth import Training

CHECKS = ("ranks_agree",)


def training():
    torch.manual_seed(0)
    inputs = torch.randn(128, 10)
    data = TensorDataset(inputs, inputs[:, :4].argmax(1))
    loader = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4)))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=F.cross_entropy, data=loader)
