"""Sentences of every length, and a compiler that expects them."""

import torch
from torch import nn

from pytest_trainhealth import Training

GATES = {"max_step_ms": 15, "steps": 8}
torch._dynamo.config.recompile_limit = 256


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, 32), nn.Linear(32, 5)

    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(1))


def training():
    model = torch.compile(Tagger(), backend="eager", dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = [(torch.randint(100, (8, length)), torch.randint(5, (8,))) for length in range(4, 68)]
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
