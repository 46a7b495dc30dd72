"""Pauses the worker processes of a revision's DataLoader while the other revision has its turn.

Left to themselves, the workers would fill their queue meanwhile, and their revision would find its next batches ready,
however long these take to make: a loader that had become half as slow again (9.3 and 14.0 ms a step, uninterrupted)
came out as 1.00 times as slow. They would also keep a core busy that the other revision is timed on. So time stands
still for them: they are stopped after each answer, and go on where they were with the next request.

A read that the system does for them goes on, though, so each may have one batch ready that it did not wait for.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Without these signals (on Windows) workers are not paused.
_STOP, _GO_ON = getattr(signal, "SIGSTOP", None), getattr(signal, "SIGCONT", None)

#: The most workers that a round waits for. By judgement: waiting for more than 8 would take too long.
_MOST = 8


@contextmanager
def at_work() -> Iterator[None]:
    """Workers run inside the block and are paused after it; not after an error, when they may be about to be ended."""
    wake()
    yield
    _tell(_STOP)


def wake() -> None:
    """Needed before workers are told to end, too: a stopped process does not notice."""
    _tell(_GO_ON)


def count() -> int:
    """How many workers there are, but no more than a round waits for."""
    return min(len(multiprocessing.active_children()), _MOST)


def _tell(number: int | None) -> None:
    for worker in multiprocessing.active_children() if number is not None else ():
        if worker.pid is not None and number is not None:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, number)
