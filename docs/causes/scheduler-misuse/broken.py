"""A classifier whose learning rate is to fall every five epochs, and falls every five batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


def training():
    classes = torch.randint(4, (256,))
    samples = torch.randn(4, 12)[classes] + 0.6 * torch.randn(256, 12)
    data = DataLoader(TensorDataset(samples, classes), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.1)
    criterion = nn.CrossEntropyLoss()

    def step(batch):
        inputs, targets = batch
        loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    return Training(model, optimizer, step=step, data=data, scheduler=schedule)
