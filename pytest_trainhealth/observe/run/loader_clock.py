"""Splits the steps of a watched training into waiting for a DataLoader and everything else."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from ..source.engine_frames import stand_in
from .events import Listener
from .run import Run


class Clock(Listener):
    """A step lasts until the next begins; the time its DataLoader takes in between is waiting."""

    ONLY_LOOKS = True

    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._began: float | None = None
        self._waited = self._aside = 0.0
        original = _BaseDataLoaderIter.__next__

        @stand_in
        def timed(iterator: Any) -> Any:
            starting = iterator._num_workers and not iterator._num_yielded  # workers start up once per epoch
            began = time.perf_counter()
            run.loader_batches.fetching = True
            try:
                batch = original(iterator)
            finally:
                run.loader_batches.fetching = False
                self._waited += 0.0 if starting else time.perf_counter() - began
            run.trace.speed.workers = max(run.trace.speed.workers, iterator._num_workers)
            if not run.loader_batches.by_a_cure:
                run.loader_batches.note(iterator, batch)
            return batch

        _BaseDataLoaderIter.__next__ = timed  # type: ignore[assignment, method-assign]
        stack.callback(setattr, _BaseDataLoaderIter, "__next__", original)

    def step_begins(self, batch: object) -> None:
        now = time.perf_counter()
        overhead = self._run.overhead_until(now)
        batches, samples = self._run.loader_batches.counted()
        if self._began is not None:
            self._run.trace.speed.loader_batches.append(batches)
            self._run.trace.speed.samples.append(samples)
            self._run.trace.speed.waits.append(self._waited)
            self._run.trace.speed.computes.append(now - self._began - self._waited - (overhead - self._aside))
        self._began, self._waited, self._aside = now, 0.0, overhead
