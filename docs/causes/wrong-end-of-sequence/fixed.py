"""Reviews are read both ways, and each direction is used where it ends."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Reviews(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.rnn = nn.LSTM(16, 32, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, 2)

    def forward(self, tokens):
        _, (h_n, _) = self.rnn(self.words(tokens))
        return self.head(torch.cat((h_n[-2], h_n[-1]), dim=1))


def training():
    model = Reviews()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    batches = []
    for _ in range(8):
        tokens = torch.randint(50, (16, 12))
        batches.append((tokens, (tokens[:, 0] < 25).long()))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
