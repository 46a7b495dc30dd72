"""Trainings with one setting that is known to be better, and trainings that are tuned.

Those with a known setting have one thing changed for the worse, so that what helps most is known from how they were
made. The tuned ones have their rate from a grid of factors of 2 over the 60 steps that are tried, with a
schedule, a fused optimizer, batches that keep the processor busy, and a model that is compiled where that pays.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pytest_trainhealth import Training

STEPS = 60


def _task(samples: int, features: int, classes: int, noise: float = 0.5) -> tuple[Tensor, Tensor]:
    """Classes that a small net can tell apart, the same task whatever the seed; samples are drawn anew."""
    task = torch.Generator().manual_seed(0)
    first, second = torch.randn(features, 32, generator=task), torch.randn(32, classes, generator=task)
    inputs = torch.randn(samples, features)
    scores = torch.tanh(inputs @ first / features**0.5 * 2) @ second
    return inputs, (scores + noise * torch.randn(samples, classes)).argmax(1)


def _loader(*tensors: Tensor, batch: int) -> DataLoader[Any]:
    return DataLoader(TensorDataset(*tensors), batch_size=batch, shuffle=True, drop_last=True)


def _net(*widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths):
        layers += [nn.Linear(inner, outer), activation()]
    return nn.Sequential(*layers[:-1])


# -- a better setting is known ---------------------------------------------------------------------------


def rate_thirty_times_too_low() -> Training:
    """Of the tuned net below, with SGD at a thirtieth of its rate."""
    model = _net(20, 64, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3 / 30)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(*_task(2000, 20, 5), batch=32))


def raw_inputs() -> Training:
    """Columns as they come: around 1000, spreads of 1 to 1000."""
    inputs, labels = _task(2000, 20, 5)
    inputs = inputs * torch.logspace(0, 3, 20) + 1000
    model = _net(20, 64, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(inputs, labels, batch=64))


def small_weights() -> Training:
    """Six layers that begin with weights of 0.02: what goes in is lost on its way to the output."""
    model = _net(20, 64, 64, 64, 64, 64, 5)
    for module in model:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(*_task(2000, 20, 5), batch=64))


def batches_of_two() -> Training:
    """A step on two samples takes as long as one on eight. Many outputs, so that two samples say something."""
    task = torch.Generator().manual_seed(2)
    weights = torch.randn(16, 64, generator=task)
    inputs = torch.randn(2000, 16)
    targets = torch.tanh(inputs @ weights / 2)
    model = _net(16, 64, 64)
    optimizer = torch.optim.Adam(model.parameters(), lr=7e-3)
    batches = list(zip(inputs.split(2), targets.split(2), strict=True))
    return Training(model, optimizer, criterion=F.mse_loss, data=batches)


class _Slow(Dataset[tuple[Tensor, Tensor]]):
    """Each sample waits a millisecond, as for a disk."""

    def __init__(self, inputs: Tensor, labels: Tensor) -> None:
        self.inputs, self.labels = inputs, labels

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        time.sleep(0.001)
        return self.inputs[index], self.labels[index]


def slow_loader() -> Training:
    model = _net(20, 64, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = DataLoader(_Slow(*_task(4000, 20, 5)), batch_size=16, shuffle=True)
    return Training(model, optimizer, criterion=F.cross_entropy, data=loader)


class _Encoder(nn.Module):
    """Tokens in, a class out."""

    def __init__(self, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(32, width), nn.Parameter(0.02 * torch.randn(16, width))
        block = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 8)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.blocks(self.tokens(tokens) + self.places).mean(1))


def _sentences(samples: int) -> tuple[Tensor, Tensor]:
    """The class is which of eight tokens comes most often."""
    tokens = torch.randint(32, (samples, 16))
    labels = torch.randint(8, (samples,))
    marked = torch.rand(samples, 16) < 0.3
    return torch.where(marked, labels[:, None], tokens), labels


# -- tuned ---------------------------------------------------------------------------------------------


def tuned_net() -> Training:
    inputs, labels = _task(8192, 64, 10)
    model = _net(64, 256, 256, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, fused=True)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(inputs, labels, batch=128),
                    scheduler=CosineAnnealingLR(optimizer, STEPS), scheduler_every="batch")  # fmt: skip


def tuned_regression() -> Training:
    task = torch.Generator().manual_seed(1)
    weights = torch.randn(32, 4, generator=task)
    inputs = torch.randn(8192, 32)
    targets = torch.sin(inputs @ weights / 4) + 0.1 * torch.randn(8192, 4)
    model = _net(32, 256, 256, 4, activation=nn.GELU)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.6e-2, weight_decay=0.0, fused=True)
    return Training(model, optimizer, criterion=F.mse_loss, data=_loader(inputs, targets, batch=128),
                    scheduler=CosineAnnealingLR(optimizer, STEPS), scheduler_every="batch")  # fmt: skip


def tuned_images() -> Training:
    """Gratings of ten directions under noise."""
    labels = torch.randint(10, (4096,))
    rows, columns = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    angles = labels[:, None, None] * torch.pi / 10
    phases = 2 * torch.pi * torch.rand(4096, 1, 1)
    images = torch.sin(rows * torch.cos(angles) + columns * torch.sin(angles) + phases)
    images = (images + 2 * torch.randn(4096, 16, 16)).unsqueeze(1)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    ).to(memory_format=torch.channels_last)  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-2, weight_decay=0.0, fused=True)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(images, labels, batch=64),
                    scheduler=_rise_and_fall(optimizer), scheduler_every="batch")  # fmt: skip


def tuned_transformer() -> Training:
    model = _Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=0.0, fused=True)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(*_sentences(3200), batch=32),
                    scheduler=_rise_and_fall(optimizer), scheduler_every="batch")  # fmt: skip


class _Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.inner, self.head = nn.Embedding(32, 32), nn.GRU(32, 64, batch_first=True), nn.Linear(64, 8)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.inner(self.tokens(tokens))[0].mean(1))


def tuned_recurrence() -> Training:
    model = _Counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-2, fused=True)
    return Training(model, optimizer, criterion=F.cross_entropy, data=_loader(*_sentences(6400), batch=64),
                    scheduler=CosineAnnealingLR(optimizer, STEPS), scheduler_every="batch")  # fmt: skip


def _rise_and_fall(optimizer: torch.optim.Optimizer) -> LambdaLR:
    """Warm-up over a tenth of the steps, then down in a straight line."""
    rise = STEPS // 10
    return LambdaLR(optimizer, lambda step: min((step + 1) / rise, max(0.02, (STEPS - step) / (STEPS - rise))))


#: By training, the change that has to come first; several where they are the same remedy.
KNOWN = {
    rate_thirty_times_too_low: ("learning rate x 10",),
    raw_inputs: ("standardised inputs",),
    small_weights: ("torch's own initialisation", "initialisation by unit variance"),
    batches_of_two: ("batch x 4, the rate following",),
    slow_loader: ("loader workers",),
}
TUNED = (tuned_net, tuned_regression, tuned_images, tuned_transformer, tuned_recurrence)
