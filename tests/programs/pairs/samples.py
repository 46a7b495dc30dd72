"""What is done to samples: merged into one another, all changed alike, or labelled alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from ..loops import Batch, Loop, mlp, pictures
from .parts import plain


def waves(batches: int = 8, size: int = 8) -> list[Batch]:
    """Three channels of twelve values; the class is their frequency."""
    found = []
    for _ in range(batches):
        labels = torch.randint(0, 4, (size,))
        time = torch.arange(12) / 12 * (labels[:, None, None] + 1) * 3.14 + torch.rand(size, 3, 1) * 6
        found.append((time.sin() + 0.1 * torch.randn(size, 3, 12), labels))
    return found


class Merging(nn.Module):
    """Time first inside; the fault takes it for the samples when it flattens."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.lift, self.body, self.head = nn.Linear(3, 8), nn.Linear(96, 32), nn.Linear(32, 4)
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        size = len(x)
        x = F.relu(self.lift(x.permute(2, 0, 1)))  # time, samples, features
        x = x.reshape(size, -1) if self.how == "viewed" else x.transpose(0, 1).flatten(1)
        return self.head(F.relu(self.body(x)))


def merged_samples(fault: str) -> Loop:
    model = Merging(fault)
    return plain(model, torch.optim.Adam(model.parameters(), 5e-3), waves())


class Fewer(nn.Module):
    """A convolutional net that flattens to what it believes is the size of a sample."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.conv, self.pool = nn.Conv1d(3, 8, 3, padding=1), nn.MaxPool1d(2)
        self.head = nn.Linear(96 if how == "believed" else 48, 4)
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv(x)))
        return self.head(x.view(-1, 96) if self.how == "believed" else x.flatten(1))


def fewer_samples(fault: str) -> Loop:
    """Two samples become one row; the labels are cut to fit."""
    model = Fewer(fault)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        made = model(batch[0])
        loss = F.cross_entropy(made, batch[1][: len(made)])
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, waves())


class Noisy(Dataset[Any]):
    """Pictures with noise on them; the fault seeds its generator for each sample anew."""

    def __init__(self, how: str) -> None:
        x, y = zip(*pictures(8), strict=True)
        self.x, self.y, self.how = torch.cat(x), torch.cat(y), how
        self.generator = np.random.default_rng(3)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        generator = np.random.default_rng(0) if self.how == "seeded" else self.generator
        noise = torch.from_numpy(generator.normal(0, 0.5, 12)).float()
        return self.x[index] + noise, self.y[index]


def augmented(fault: str) -> Loop:
    model = mlp(12, 32, 4)
    loop = plain(model, torch.optim.Adam(model.parameters(), 3e-3), [])
    loop.data = DataLoader(Noisy(fault), batch_size=16, shuffle=True)  # type: ignore[assignment]
    return loop


def augmented_in_the_step(fault: str) -> Loop:
    """Noise that is drawn once for a batch, or once for ever."""
    model = mlp(12, 32, 4)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        if fault == "seeded":
            torch.manual_seed(0)
        noise = torch.randn(batch[0].shape) * 0.5
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0] + noise), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures())


def constant_labels(fault: str) -> Loop:
    model = mlp(12, 32, 4)
    data = pictures()
    if fault == "constant":
        data = [(x, torch.zeros_like(y)) for x, y in data]
    return plain(model, torch.optim.Adam(model.parameters(), 3e-3), data)


PAIRS = {
    merged_samples: ("none", "viewed"),
    fewer_samples: ("none", "believed"),
    augmented: ("none", "seeded"),
    augmented_in_the_step: ("none", "seeded"),
    constant_labels: ("none", "constant"),
}
