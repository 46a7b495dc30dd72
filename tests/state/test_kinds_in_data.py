"""What loaders, samplers, data sets and what they call keep: put back for the next run and the user, or named."""

from __future__ import annotations

import functools
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.observe.run.feed import Feed
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.state.data_parts import DataPart
from pytest_trainhealth.state.snapshot import Snapshot
from pytest_trainhealth.state.user_code import module_of_user

_READ = 0


class Samples(Dataset[torch.Tensor]):
    """Each sample is a number that `number` gives, which is free to keep count."""

    read = 0

    def __init__(self, number: Callable[[int], float] = float, **kept: Any) -> None:
        self.number = number
        vars(self).update(kept)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(self.number(index)))


class Augment:
    def __init__(self) -> None:
        self.calls, self.seen, self.inner = 0, [0.0], {"order": np.arange(3)}

    def __call__(self, value: Any) -> float:
        self.calls += 1
        self.seen.append(1.0)
        self.inner["order"] += 1
        return float(self.calls + 100 * len(self.seen) + 1000 * self.inner["order"][0])

    def method(self, value: Any) -> float:
        return self(value)


class Slotted:
    __slots__ = ("calls",)

    def __call__(self, value: Any) -> float:
        self.calls = getattr(self, "calls", 0) + 1
        return float(self.calls)


class InAGlobal(Samples):
    def __getitem__(self, index: int) -> torch.Tensor:
        global _READ
        _READ += 1
        return torch.full((2,), float(_READ))


class InItsClass(Samples):
    def __getitem__(self, index: int) -> torch.Tensor:
        type(self).read += 1
        return torch.full((2,), float(self.read))


class InABase(Samples):
    def __getitem__(self, index: int) -> torch.Tensor:
        Samples.read += 1
        return torch.full((2,), float(self.read))


class Composed(Samples):
    def __getitem__(self, index: int) -> torch.Tensor:
        value: Any = index
        for each in self.transforms:  # type: ignore[attr-defined]
            value = each(value)
        return torch.full((2,), float(value))


class Reads(Samples):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(next(self.source)))  # type: ignore[attr-defined]


class Streams(IterableDataset[torch.Tensor]):
    def __init__(self) -> None:
        self.begun = 0

    def __iter__(self) -> Iterator[torch.Tensor]:
        self.begun += 1
        for index in range(8):
            self.begun += 1
            yield torch.full((2,), float(self.begun + index))


class Epochs(Sampler[int]):
    def __init__(self) -> None:
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        self.epoch += 1
        return iter([(self.epoch + each) % 8 for each in range(8)])

    def __len__(self) -> int:
        return 8


def closure() -> Callable[[Any], float]:
    calls, order = 0, [1, 2, 3]

    def count(value: Any) -> float:
        nonlocal calls
        calls += 1
        order.reverse()
        return float(calls * 10 + order[0])

    return count


def collate(counts: dict[str, int], items: list[torch.Tensor]) -> torch.Tensor:
    counts["calls"] += 1
    return torch.stack(items) + counts["calls"]


def lines() -> Any:
    file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the data set keeps it open
    file.write("\n".join(map(str, range(100))))
    file.seek(0)
    return file


class FromAFile(Samples):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(self.file.readline()))  # type: ignore[attr-defined]


PUT_BACK: dict[str, Callable[[], Any]] = {
    "callable": lambda: DataLoader(Samples(Augment()), 2),
    "bound method": lambda: DataLoader(Samples(Augment().method), 2),
    "closure": lambda: DataLoader(Samples(closure()), 2),
    "partial": lambda: DataLoader(Samples(functools.partial(lambda augment, value: augment(value), Augment())), 2),
    "slots": lambda: DataLoader(Samples(Slotted()), 2),
    "list of transforms": lambda: DataLoader(Composed(transforms=[Augment(), closure()]), 2),
    "global": lambda: DataLoader(InAGlobal(), 2),
    "class": lambda: DataLoader(InItsClass(), 2),
    "base of its class": lambda: DataLoader(InABase(), 2),
    "collate_fn": lambda: DataLoader(Samples(), 2, collate_fn=functools.partial(collate, {"calls": 0})),
    "count": lambda: DataLoader(Reads(source=itertools.count()), 2),
    "stream": lambda: DataLoader(Streams(), 2),
    "sampler": lambda: DataLoader(Samples(), 2, sampler=Epochs()),
    "generator as data": lambda: (torch.full((2, 2), float(n)) for n in range(99)),
    "endless iterator as data": lambda: map(lambda n: torch.full((2, 2), float(n)), itertools.count()),
    "file": lambda: DataLoader(FromAFile(file=lines()), 2),
}
NAMED: dict[str, tuple[Callable[[], Any], str]] = {
    "generator of a data set": (
        lambda: DataLoader(Reads(source=(n for n in range(99))), 2), "`DataLoader.dataset.source` is the generator",
    ),
    "generators in a list": (
        lambda: DataLoader(Composed(transforms=[lambda value, it=(n for n in range(99)): next(it)]), 2),
        "is the generator <genexpr>(), which cannot be rewound",
    ),
}  # fmt: skip


def start_of(data: Any) -> Start:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return Start(Training(model, optimizer, loss=lambda model, batch: model(batch).mean(), data=data), seed=0)


def batches(start: Start, training: Training | None = None) -> list[float]:
    """The first six batches of a run."""
    feed = Feed(training or start.begin(), one_batch=False)
    found = []
    for _ in range(6):
        found.append(float(feed.take().sum()))
        feed.give_back()
    feed.close()
    return found


@pytest.mark.parametrize("kind", PUT_BACK)
def test_is_put_back(kind: str) -> None:
    start = start_of(PUT_BACK[kind]())
    runs = [batches(start) for _ in range(3)]
    assert start.repeatable, start.why_not
    assert start.close() == []
    runs.append(batches(start, start.training))  # what the user finds afterwards
    assert start.close() == []
    assert runs[1:] == runs[:1] * 3


@pytest.mark.parametrize("kind", NAMED)
def test_is_named(kind: str) -> None:
    make, words = NAMED[kind]
    start = start_of(make())
    batches(start)
    assert not start.repeatable
    assert words in start.why_not


class Stored:
    """Hands out what it keeps, not copies."""

    def __init__(self, kind: str) -> None:
        array = np.ones((4, 3, 2), dtype=np.float32)
        self.kept = [torch.ones(3, 2) for _ in range(4)] if kind == "tensors" else array
        if kind == "views":
            self.kept = torch.ones(4, 3, 2)

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (each if isinstance(each, torch.Tensor) else torch.from_numpy(each) for each in self.kept)

    def __len__(self) -> int:
        return 4


@pytest.mark.parametrize("loader", [lambda data: data, lambda data: DataLoader(list(data), None)], ids=["own", "torch"])
@pytest.mark.parametrize("kind", ["tensors", "views", "numpy"])
def test_what_a_step_writes_into_what_a_loader_keeps(kind: str, loader: Callable[[Any], Any]) -> None:
    stored, model = Stored(kind), nn.Linear(2, 1)

    def loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        batch *= 2
        return model(batch).square().mean()  # type: ignore[no-any-return]

    training = Training(model, torch.optim.SGD(model.parameters(), 1e-3), loss=loss, data=loader(stored))
    examine(training, Request("trains_without_nan", "stored", 1, {"steps": 3, "sweep": False}))
    assert all(float(each.sum()) == 6.0 for each in stored.kept)


class Node:
    """Samples that lead to each other."""

    def __init__(self) -> None:
        self.neighbours: list[Node] = []


def test_samples_are_not_followed_one_by_one() -> None:
    nodes = [Node() for _ in range(20_000)]
    for before, after in itertools.pairwise(nodes):
        before.neighbours.append(after)
    snapshot = Snapshot([DataPart(Samples(first=nodes[0]))])
    assert len(snapshot._notes.undo) < 5_000


def test_modules_of_python_itself_are_not_the_users() -> None:
    assert not any(module_of_user(module) for module in (sys, time, itertools, tempfile, np, torch))
    assert module_of_user(sys.modules[__name__])
