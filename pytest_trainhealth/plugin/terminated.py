"""CI servers end a job with SIGTERM, on which Python would leave at once: no summary, no JUnit file, nothing restored.

While tests run it is treated like Ctrl-C. Only in a run that judges, only where nobody else wants the signal, and never
in processes that a test forks: workers of a DataLoader are ended with SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    if hasattr(os, "register_at_fork") and not _REGISTERED:
        os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on_without_us)
        _REGISTERED.append(True)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        _leave_alone()


#: Not empty once a process has been told what to do in its children: that cannot be taken back.
_REGISTERED: list[bool] = []
#: The signals that a process that is about to fork had blocked.
_WAITING: list[set[int | signal.Signals]] = []


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt("ended by SIGTERM")


def _wait() -> None:
    """A signal that reached the child before it has the default again would be lost."""
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        _WAITING.append(signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}))


def _go_on() -> None:
    while _WAITING:
        signal.pthread_sigmask(signal.SIG_SETMASK, _WAITING.pop())


def _go_on_without_us() -> None:
    _leave_alone()
    _go_on()


def _leave_alone() -> None:
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
