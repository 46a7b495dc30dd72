"""A classifier with BatchNorm on 65 samples: the last batch of each epoch holds one."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


def training():
    classes = torch.randint(4, (65,))
    samples = torch.randn(4, 12)[classes] + 0.6 * torch.randn(65, 12)
    data = DataLoader(TensorDataset(samples, classes), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
