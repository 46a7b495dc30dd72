"""Keeps both revisions on the same core.

Left to itself, the scheduler puts the two processes wherever there is room, and one core is busier than the other: with
every core loaded, one process was 1.6 times slower for seconds on end, until it was moved. So a training with one
thread is kept on one core while it is timed. It is always the same core: the first round after a move is a fifth
slower, and that round would always be the same revision's. With more threads, or on an accelerator, there is nothing to
choose.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cores:
    def __init__(self) -> None:
        self._all: list[int] = []
        if sys.platform == "linux":
            self._all = sorted(os.sched_getaffinity(0))
            # the workers of a DataLoader may use every core, as before
            os.register_at_fork(after_in_child=self._free)  # `one` frees those that are not forked

    @contextmanager
    def one(self, threads: int) -> Iterator[None]:
        """Uses the last core: the first ones handle interrupts."""
        if threads != 1 or len(self._all) < 2 or sys.platform != "linux":
            yield
            return
        os.sched_setaffinity(0, {self._all[-1]})
        try:
            yield
        finally:
            self._free()
            for worker in multiprocessing.active_children():
                with suppress(OSError):  # the worker has just ended
                    self._free(worker.pid or 0)

    def _free(self, process: int = 0) -> None:
        if sys.platform == "linux":
            os.sched_setaffinity(process, self._all)
