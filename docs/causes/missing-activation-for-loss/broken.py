"""Words by their neighbours. `nll_loss` is given the scores as they come out of the last layer."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class Neighbours(nn.Module):
    def __init__(self, words=20, size=32):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.scores = nn.Linear(2 * size, words)

    def forward(self, context):
        return self.scores(self.embedding(context).flatten(1))


def loss(model, batch):
    context, word = batch
    return F.nll_loss(model(context), word)


def training():
    first = torch.randint(20, (64,))
    context, word = torch.stack([first, (first + 1) % 20], dim=1), (first + 2) % 20
    model = Neighbours()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    batches = list(zip(context.split(16), word.split(16), strict=True))
    return Training(model, optimizer, loss=loss, data=batches)
