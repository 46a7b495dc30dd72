"""A classifier in half precision whose loss is scaled, and whose gradients are not scaled back."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


def training():
    classes = torch.randint(4, (256,))
    samples = torch.randn(4, 12)[classes] + 0.6 * torch.randn(256, 12)
    data = DataLoader(TensorDataset(samples, classes), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")

    def step(batch):
        inputs, targets = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=data)
