"""A recurrent network that carries its state on from one piece of a text to the next."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.head = nn.Embedding(20, 16), nn.Linear(32, 20)
        self.memory = nn.GRU(16, 32, batch_first=True)
        self.state = None

    def forward(self, text):
        read, self.state = self.memory(self.letters(text), self.state)
        return self.head(read).transpose(1, 2)


def training():
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    text = torch.arange(16 * 129).view(16, 129) % 20
    pieces = [(text[:, at : at + 16], text[:, at + 1 : at + 17]) for at in range(0, 128, 16)]
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=pieces)
