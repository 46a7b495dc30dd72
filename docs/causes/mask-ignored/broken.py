"""Sentences of different length, filled up with zeros. Attention knows the mask, the mean over positions does not."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from pytest_trainhealth import Training


class Classifier(nn.Module):
    def __init__(self, words=60, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(width, 3)

    def forward(self, tokens, mask):
        hidden = self.encoder(self.words(tokens), src_key_padding_mask=~mask)
        return self.head(hidden.mean(1))


def sentences(count=16):
    tokens = pad_sequence([torch.randint(1, 60, (3 + i % 10,)) for i in range(count)], batch_first=True)
    return tokens, tokens != 0, torch.randint(0, 3, (count,))


def loss(model, batch):
    tokens, mask, label = batch
    return F.cross_entropy(model(tokens, mask), label)


def training():
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, loss=loss, data=sentences())
