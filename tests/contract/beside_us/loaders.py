"""Batches from worker processes, started by fork and by spawn, with a model in the data set."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from .loop import Classifier, Loop, batches, classifier, comparable, learns, program


class Samples(Dataset[Any]):
    """Computes features with a model of its own, and draws random numbers."""

    def __init__(self, features: nn.Module | None) -> None:
        self.features = features
        self.labels = torch.arange(32) % 3

    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> Any:
        x = torch.randn(6) + self.labels[index]
        if self.features is not None:
            with torch.no_grad():
                x = x + self.features(x[None])[0].sum()
        info = get_worker_info()
        return x, self.labels[index], -1 if info is None else info.id


def _loaded(data: Any, *, features: nn.Module | None = None, **settings: Any) -> Loop:
    model, optimizer = classifier()
    loader: Any = DataLoader(data, 8, **settings)
    noted: list[Any] = []

    def step(batch: Any) -> Tensor:
        noted.append(comparable(batch))
        return learns(model, optimizer, batch[:2])

    return Loop(model, optimizer, step, loader, noted)


@program
def a_loader_without_workers() -> Loop:
    return _loaded(Samples(None), shuffle=True)


@program
def workers_by_fork() -> Loop:
    return _loaded(Samples(nn.Linear(6, 2)), num_workers=2, multiprocessing_context="fork", shuffle=True)


@program
def workers_by_spawn() -> Loop:
    return _loaded(Samples(nn.Linear(6, 2)), num_workers=1, multiprocessing_context="spawn")


@program
def workers_that_are_sent_the_model() -> Loop:
    """The data set refers to the very model that is trained: a worker gets a pickled copy of it."""
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    noted: list[Any] = []
    data = Samples(model.body[0])

    def step(batch: Any) -> Tensor:
        loss = learns(model, optimizer, batch)
        if len(noted) == 1:
            loader: Any = DataLoader(data, 16, num_workers=1, multiprocessing_context="spawn")
            noted.append(comparable(list(loader)))
        noted.append(1)
        return loss

    return Loop(model, optimizer, step, batches(), noted)


class Streamed(IterableDataset[Any]):
    def __iter__(self) -> Any:
        for index in range(32):
            yield torch.randn(6) + index % 3, index % 3, 0


@program
def a_stream_by_a_worker() -> Loop:
    return _loaded(Streamed(), num_workers=1, multiprocessing_context="fork", persistent_workers=True)


@program
def a_generator_of_its_own() -> Loop:
    made = torch.Generator().manual_seed(7)
    data = TensorDataset(torch.randn(32, 6), torch.arange(32) % 3)
    return _loaded(data, shuffle=True, generator=made)
