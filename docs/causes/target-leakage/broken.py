"""A small language model. Without a causal mask each word sees the next one, which it has to predict."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class LanguageModel(nn.Module):
    def __init__(self, words=40, width=32, longest=16):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        length = tokens.shape[1]
        hidden = self.words(tokens) + self.places.weight[:length]
        return self.head(self.block(hidden))


def next_word(model, tokens):
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def training():
    model = LanguageModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return Training(model, optimizer, loss=next_word, data=torch.randint(0, 40, (8, 17)))
