"""Hits are counted sample by sample: each is read from the device before the next is looked at."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

GATES = {"max_step_ms": 3}


def training():
    model = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    hits = []

    def loss(model, batch):
        logits = model(batch[0])
        right = logits.argmax(1) == batch[1]
        hits.append(sum(hit.item() for hit in right))
        return F.cross_entropy(logits, batch[1])

    batches = [(torch.randn(8192, 4), torch.randint(4, (8192,))) for _ in range(4)]
    return Training(model, optimizer, loss=loss, data=batches)
