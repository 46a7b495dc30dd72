"""A small language model whose output layer uses the weights of its embedding."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class LanguageModel(nn.Module):
    def __init__(self, words=40, width=32):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])


def loss(model, tokens):
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def training():
    model = LanguageModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    starts = [torch.randint(40, (16, 1)) for _ in range(8)]
    batches = [(start + 3 * torch.arange(12)) % 40 for start in starts]
    return Training(model, optimizer, loss, batches)
