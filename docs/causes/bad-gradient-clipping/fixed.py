"""A recurrent network whose gradients are clipped at a norm that only outliers reach."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.rnn = nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, 6)

    def forward(self, tokens):
        return self.head(self.rnn(self.words(tokens))[0])


def training():
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

    def step(batch):
        tokens, tags = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    batches = []
    for _ in range(8):
        tokens = torch.randint(50, (16, 12))
        batches.append((tokens, tokens % 6))
    return Training(model, optimizer, step=step, data=batches)
