"""The checkpoint holds the model alone."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

CHECKS = ("resumes_exactly",)


def training():
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    saved = {"model": model}

    def save(path):
        torch.save({name: part.state_dict() for name, part in saved.items()}, path)

    def load(path):
        for name, state in torch.load(path).items():
            saved[name].load_state_dict(state)

    inputs = torch.randn(8, 16, 10)
    batches = [(each, each[:, :4].argmax(1)) for each in inputs]
    return Training(model, optimizer, criterion=F.cross_entropy, data=batches, save=save, load=load)
