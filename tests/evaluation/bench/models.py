"""Trainings with steps of one to some twenty milliseconds, on which the benchmarks measure."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training


def mlp() -> Training:
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    return _classifier(model, torch.randn(128, 128), 10)


def middling_mlp() -> Training:
    model = nn.Sequential(nn.Linear(256, 448), nn.ReLU(), nn.Linear(448, 448), nn.ReLU(), nn.Linear(448, 10))
    return _classifier(model, torch.randn(128, 256), 10)


def wide_mlp() -> Training:
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    return _classifier(model, torch.randn(128, 512), 10)


def cnn() -> Training:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    return _classifier(model, torch.randn(16, 3, 24, 24), 10)


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 3)
        self.head = nn.Linear(64, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens)).mean(1))  # type: ignore[no-any-return]


def transformer() -> Training:
    return _classifier(_Encoder(), torch.randint(0, 100, (16, 24)), 10)


def _classifier(model: nn.Module, inputs: torch.Tensor, classes: int) -> Training:
    target = torch.randint(0, classes, (len(inputs),))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    return Training(model, optimizer, criterion=F.cross_entropy, data=(inputs, target))


MODELS = {"mlp": mlp, "middling mlp": middling_mlp, "cnn": cnn, "transformer": transformer, "wide mlp": wide_mlp}
