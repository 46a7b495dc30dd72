"""The same batches, loaded before the clock starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader

from ...observe.run.batch_guard import BatchGuard
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import fresh_containers

#: A loader without a length: its batches are counted, and an endless one ends after this many. By judgement: more than
#: the 30 steps of keeps_throughput.
_MOST = 64


class PreloadedBatches(Listener):
    def __init__(self, run: Run, stack: ExitStack, count: int) -> None:
        self._run, self._count = run, count
        #: By loader: its batches, and how many it yields. A script may create a new loader for each epoch.
        self._loaded: WeakKeyDictionary[Any, tuple[list[Any], int]] = WeakKeyDictionary()
        self._unharmed = BatchGuard()
        if run.feed is None:  # a watched test has its own loaders
            run.loader_batches.by_a_cure = True
            original = DataLoader.__iter__
            stack.callback(setattr, DataLoader, "__iter__", original)
            setattr(DataLoader, "__iter__", lambda loader: self._preloaded(loader, original))  # noqa: B010

    def run_begins(self) -> None:
        if self._run.feed is not None:
            self._run.feed.preload(self._count)

    def _preloaded(self, loader: Any, original: Any) -> Iterator[Any]:
        """As many batches as the loader yields, made from the first few."""
        if loader not in self._loaded:
            given = original(loader)
            batches = list(islice(given, self._count))
            self._unharmed.keep(batches)
            self._loaded[loader] = batches, len(batches) + _left(loader, given, len(batches))
        return self._again(loader, *self._loaded[loader])

    def _again(self, loader: Any, batches: list[Any], count: int) -> Iterator[Any]:
        """Hands out copies: a step may pop from its batch, or write into it."""
        for index in range(count):
            batch = fresh_containers(batches[index % len(batches)])
            self._run.loader_batches.note(loader, batch)
            try:
                yield batch
            finally:
                self._unharmed.restore()


def _left(loader: Any, given: Iterator[Any], read: int) -> int:
    """How many batches the loader has left after those that were read."""
    try:
        return max(len(loader) - read, 0) if read else 0
    except TypeError:
        return sum(1 for _ in islice(given, _MOST - read))
