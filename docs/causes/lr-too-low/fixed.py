"""A small text classifier. It starts from random weights, with a learning rate that suits them."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Topics(nn.Module):
    def __init__(self, words=200, topics=5, width=32):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width)
        self.hidden = nn.Linear(width, 64)
        self.topics = nn.Linear(64, topics)

    def forward(self, texts):
        return self.topics(torch.relu(self.hidden(self.words(texts))))


def training():
    model = Topics()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    texts, topics = torch.randint(200, (16, 20)), torch.randint(5, (16,))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(texts, topics))
