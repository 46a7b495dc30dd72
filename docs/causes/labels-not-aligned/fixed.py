"""Sensor readings and their classes from two files, without the first line of both."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


def two_files():
    classes = torch.randint(4, (400,))
    readings = torch.randn(4, 12)[classes] + 0.6 * torch.randn(400, 12)
    return readings, classes


def training():
    readings, classes = two_files()
    readings, classes = readings[1:], classes[1:]
    data = DataLoader(TensorDataset(readings, classes), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
