"""The order in which threads of a pool are done, which no seed decides: it is exchanged for a fixed one.

Tasks run in the threads of their pool as ever, one after the other. What is left to choose is the order in which their
results are handed out: `as_completed()` and `wait()` keep them in sets, whose order follows their hashes, and
`imap_unordered()` gives them one by one. Code that takes the results as it has asked for them sees no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from multiprocessing.pool import ThreadPool
from typing import Any

from ._entropy import Replacement, called_by_user, exchange

#: Seconds that a task is waited for before the next one is let in. By judgement: one that takes longer may wait for a
#: task that comes after it, and then the order of all is their own.
_PATIENCE = 2.0
#: Larger than any number of tasks, and one less than a power of 2: sets of all sizes then have the reverse order.
_LAST = (1 << 30) - 1


class _InOrder(Future[Any]):
    place_in_order: int

    def __hash__(self) -> int:
        return self.place_in_order


def put_in_order(stack: ExitStack, note: Callable[[str], None], *, backwards: bool, held: bool) -> None:
    """Until the stack closes. `backwards`: the last task is done first; otherwise they are done as they were begun."""
    taken, waits = 0, True

    def make_submit(original: Replacement) -> Replacement:
        def submit(pool: ThreadPoolExecutor, *given: Any, **named: Any) -> Any:
            nonlocal taken, waits
            future = original(pool, *given, **named)
            if called_by_user() and type(future) is Future:
                note("ThreadPoolExecutor.submit()")
                # as_completed() takes what is done from the end of its set
                vars(future)["place_in_order"] = taken if backwards else _LAST - taken
                future.__class__ = _InOrder
                taken += 1
                waits = waits and not wait([future], timeout=_PATIENCE).not_done
            return future

        submit.held_still = held  # type: ignore[attr-defined]
        return submit

    def make_imap(original: Replacement) -> Replacement:
        def imap_unordered(pool: ThreadPool, func: Callable[[Any], Any], iterable: Any, chunksize: int = 1) -> Any:
            if not called_by_user():
                return original(pool, func, iterable, chunksize)
            note("ThreadPool.imap_unordered()")
            results = pool.map(func, iterable, chunksize)
            return iter(results[::-1] if backwards else results)

        imap_unordered.held_still = held  # type: ignore[attr-defined]
        return imap_unordered

    exchange(ThreadPoolExecutor, "submit", stack, make_submit)
    exchange(ThreadPool, "imap_unordered", stack, make_imap)
