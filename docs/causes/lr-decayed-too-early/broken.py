"""A classifier whose learning rate falls to 0 within 20 steps, though it trains for hundreds."""

import torch
from torch import nn
from torch.optim.lr_scheduler import PolynomialLR
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


def training():
    classes = torch.randint(4, (256,))
    samples = torch.randn(4, 12)[classes] + 0.6 * torch.randn(256, 12)
    data = DataLoader(TensorDataset(samples, classes), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = PolynomialLR(optimizer, total_iters=20)
    criterion = nn.CrossEntropyLoss()
    return Training(model, optimizer, criterion=criterion, data=data, scheduler=scheduler, scheduler_every="batch")
