"""A transformer block with two normalisation layers, each in its place."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, num_heads=4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 32)
        self.block = Block()
        self.tags = nn.Linear(32, 5)

    def forward(self, tokens):
        return self.tags(self.block(self.words(tokens))).transpose(1, 2)


def training():
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    tokens, tags = torch.randint(100, (8, 12)), torch.randint(5, (8, 12))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=(tokens, tags))
