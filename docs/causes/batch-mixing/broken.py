"""Gestures from 20 readings of an accelerometer each. The LSTM expects time where the samples are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training


class Gestures(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, readings):
        hidden, _ = self.lstm(readings)
        return self.head(hidden[:, -1])


def recordings(count=64):
    gesture = torch.randint(0, 4, (count,))
    speed = torch.linspace(0, 3, 20)[None, :, None] * (1 + gesture)[:, None, None]
    return TensorDataset(torch.sin(speed + torch.tensor([0.0, 1.0, 2.0])) + 0.1 * torch.randn(count, 20, 3), gesture)


def training():
    model = Gestures()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = DataLoader(recordings(), batch_size=16, shuffle=True)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
