"""The worker processes of a side rest while the other side has its turn.

Left to themselves they would fill their queue meanwhile, and a side would find its next batches made, however long
they take: a loader that had become half as slow again (9.3 and 14.0 ms a step, uninterrupted) was told to be 1.00 times
as slow. They would also keep a core busy that the other side is timed on. So time stands still for them: they are
stopped after each answer, and go on where they were with the next question.

A read that the system does for them goes on, though, so each may have one batch ready that it did not wait for.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: Where there are no such signals (Windows) workers do not rest.
_STOP, _GO_ON = getattr(signal, "SIGSTOP", None), getattr(signal, "SIGCONT", None)

#: That are stopped and woken. By judgement: more than 8 are no longer waited for.
_MOST = 8


@contextmanager
def at_work() -> Iterator[None]:
    """Inside of it they work; afterwards they rest. Not after an error: then they may be about to be ended."""
    wake()
    yield
    _tell(_STOP)


def wake() -> None:
    """Also before they are told to end: who is stopped does not hear it."""
    _tell(_GO_ON)


def count() -> int:
    """No more than can be waited for."""
    return min(len(multiprocessing.active_children()), _MOST)


def _tell(number: int | None) -> None:
    for worker in multiprocessing.active_children() if number is not None else ():
        if worker.pid is not None and number is not None:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, number)
