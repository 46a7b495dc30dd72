"""A table of positions is kept in a plain attribute, and does not move with the model.

The device "meta" stands for any other one here.
"""

import torch
from torch import nn

from pytest_trainhealth import Training


class Tagger(nn.Module):
    def __init__(self, made_on="meta"):
        super().__init__()
        self.positions = 0.1 * torch.ones(10, 16, device=made_on)
        self.words, self.head = nn.Embedding(50, 16), nn.Linear(16, 3)

    def forward(self, ids):
        return self.head(self.words(ids) + self.positions).transpose(1, 2)


def training():
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = torch.randint(50, (256, 10))
    batches = [(part, part % 3) for part in ids.split(32)]
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
