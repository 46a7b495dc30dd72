"""Data in every form that a `Training` takes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from .faults import Trip

_BATCHES, _SIZE = 3, 6


def _pairs(dtype: torch.dtype) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.randn(_SIZE, 4, dtype=dtype), torch.randint(0, 3, (_SIZE,))) for _ in range(_BATCHES)]


def _samples(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(_SIZE * _BATCHES, 4, dtype=dtype), torch.randint(0, 3, (_SIZE * _BATCHES,))


class OwnLoader:
    """Counts its epochs, shuffles in place, and can fail at its begin and in between."""

    def __init__(self, trip: Trip, dtype: torch.dtype) -> None:
        self._trip, self.batches, self.epochs = trip, _pairs(dtype), 0
        self.random = random.Random(4)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Any]:
        self._trip("loader begins")
        self.epochs += 1
        self.random.shuffle(self.batches)
        return self._rest()

    def _rest(self) -> Iterator[Any]:
        for batch in self.batches:
            self._trip("loader goes on")
            yield batch


class Noisy(Dataset[Any]):
    """Augments with generators of its own, writes what it has read into itself, and can fail."""

    def __init__(self, trip: Trip, dtype: torch.dtype) -> None:
        self._trip, (self.x, self.y), self.read = trip, _samples(dtype), 0
        self.noise, self.torch_noise = np.random.default_rng(3), torch.Generator().manual_seed(8)
        self.recent: list[int] = []

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        self._trip("loader goes on")
        self.read += 1
        self.recent.append(index)
        shift = float(self.noise.normal()) + float(torch.randn((), generator=self.torch_noise))
        return self.x[index] + 0.01 * shift, self.y[index]


class Stream(IterableDataset[Any]):
    def __init__(self, trip: Trip, dtype: torch.dtype) -> None:
        self._trip, self._dtype, self.begun = trip, dtype, 0

    def __iter__(self) -> Iterator[Any]:
        self._trip("loader begins")
        self.begun += 1
        for _ in range(_SIZE * _BATCHES):
            self._trip("loader goes on")
            yield torch.randn(4, dtype=self._dtype), torch.tensor(random.randrange(3))


class Views:
    """Hands out the data themselves, cut into batches."""

    def __init__(self, trip: Trip, dtype: torch.dtype) -> None:
        self._trip, (self.x, self.y) = trip, _samples(dtype)

    def __iter__(self) -> Iterator[Any]:
        self._trip("loader begins")
        for at in range(0, len(self.x), _SIZE):
            self._trip("loader goes on")
            yield self.x[at : at + _SIZE], self.y[at : at + _SIZE]


def _shuffled(trip: Trip, dtype: torch.dtype) -> Any:
    return DataLoader(TensorDataset(*_samples(dtype)), _SIZE, shuffle=True, generator=torch.Generator().manual_seed(5))


def _sampled(trip: Trip, dtype: torch.dtype) -> Any:
    data = Noisy(trip, dtype)
    sampler = RandomSampler(data, num_samples=2 * _SIZE, generator=torch.Generator().manual_seed(6))
    return DataLoader(data, _SIZE, sampler=sampler)


def _generator(trip: Trip, dtype: torch.dtype) -> Any:
    return (batch for batch in _pairs(dtype))


def _workers(persistent: bool) -> Callable[[Trip, torch.dtype], Any]:
    def made(trip: Trip, dtype: torch.dtype) -> Any:
        data = Noisy(trip, dtype)
        generator = torch.Generator().manual_seed(7)
        return DataLoader(data, _SIZE, num_workers=2, persistent_workers=persistent, generator=generator, shuffle=True)

    return made


LOADERS: dict[str, Callable[[Trip, torch.dtype], Any]] = {
    "one batch": lambda trip, dtype: _pairs(dtype)[0],
    "list": lambda trip, dtype: _pairs(dtype),
    "own loader": OwnLoader,
    "shuffled": _shuffled,
    "sampled": _sampled,
    "stream": lambda trip, dtype: DataLoader(Stream(trip, dtype), _SIZE),
    "views": Views,
    "generator": _generator,
    "cycle": lambda trip, dtype: itertools.cycle(_pairs(dtype)),
    "zip": lambda trip, dtype: zip(*map(iter, zip(*_pairs(dtype), strict=True)), strict=True),
}
#: Take a hundred times as long as the others.
WITH_WORKERS = {"workers": _workers(persistent=False), "workers that stay": _workers(persistent=True)}
