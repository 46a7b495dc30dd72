"""Reviews as ids of words. The id for padding comes after those of all words, and the table has no row for it."""

import torch
from torch import nn

from pytest_trainhealth import Training

WORDS, LENGTH = 200, 12
PADDING = WORDS


def reviews(count):
    ids = torch.randint(WORDS, (count, LENGTH))
    good = (ids < WORDS // 2).float().mean(1) > 0.5
    ids[:, -2:] = PADDING
    return ids, good.long()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, ids):
        return self.head(self.words(ids).mean(1))


def training():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids, labels = reviews(512)
    batches = list(zip(ids.split(64), labels.split(64), strict=True))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
