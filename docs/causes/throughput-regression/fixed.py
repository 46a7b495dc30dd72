"""A text classifier as it was at the last commit: what a position sees of the others is worked out once."""

import torch
from torch import nn

from pytest_trainhealth import Training

GATES = {"against": "HEAD", "tolerance": 0.5}


class Encoder(nn.Module):
    def __init__(self, length=256, width=64):
        super().__init__()
        position = torch.arange(length)
        neighbours = (position[:, None] - position[None, :]).abs() <= 1
        self.register_buffer("walk", neighbours / neighbours.sum(1))
        self.register_buffer("seen", torch.linalg.matrix_power(self.walk, 64))
        self.embed = nn.Embedding(1000, width)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, tokens):
        seen = self.seen
        mixed = seen @ self.mix(self.embed(tokens))
        return self.head(mixed.mean(1))


def training():
    model = Encoder()
    data = [(torch.randint(1000, (2, 256)), torch.randint(4, (2,))) for _ in range(4)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
