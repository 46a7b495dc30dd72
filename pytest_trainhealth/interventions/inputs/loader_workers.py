"""Batches are loaded by worker processes, ahead of the step that needs them."""

from __future__ import annotations

from contextlib import ExitStack

from torch.utils.data import DataLoader

from ...observe.run.events import Listener
from ...observe.run.run import Run

#: Batches that a worker loads ahead: torch's own default, 2.
_AHEAD = 2


class LoaderWorkers(Listener):
    def __init__(self, run: Run, stack: ExitStack, count: int) -> None:
        loader = None if run.feed is None else run.feed.source
        if not isinstance(loader, DataLoader):
            run.trace.applied.without_effect.append("loader_workers")
            return
        before = loader.num_workers, loader.prefetch_factor
        stack.callback(_set, loader, *before)
        _set(loader, count, _AHEAD)


def _set(loader: DataLoader[object], workers: int, ahead: int | None) -> None:
    loader.num_workers, loader.prefetch_factor = workers, ahead
