"""Interrupts a step that hangs, where the platform allows: by the alarm of the process, in its main thread.

An alarm reaches Python between two operations, and ends a wait such as `sleep`, `recv` or `queue.get`. A call into
compiled code that does not return, another thread, and Windows cannot be interrupted.

The alarm belongs to the user, or to a plugin such as pytest-timeout. A handler that was there gets its own alarms at
their own time, and is put back together with the time that it had left.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ... import wording
from ...budget import monotonic
from ...budget.budget import Budget
from ...records.verdict import Place
from ..source.authorship import is_library_file, is_ours
from ..source.engine_frames import is_engine_frame
from ..source.places import user_place

#: Seconds until the next try, where our own code was at work: it must not be left half done. By judgement: it takes
#: milliseconds at a time.
_SOON = 0.05
#: The shortest time that a timer is set to: 0 would switch it off.
_AT_ONCE = 1e-3


class DidNotComeBack(BaseException):
    """The user's code hangs. No `Exception`: a loop that goes on after any error must not go on after this one."""

    def __init__(self, seconds: float, place: Place | None) -> None:
        super().__init__(seconds, place)
        self.seconds, self.place = seconds, place
        #: Whoever knows better says so.
        self.what = "the step"

    def __str__(self) -> str:
        where = "" if self.place is None else f": it was at {self.place} `{self.place.code}`"
        return f"{self.what} did not come back within {wording.short(self.seconds)} s{where}"


@contextmanager
def interrupting(budget: Budget) -> Iterator[None]:
    """While the block runs, a lap of the budget that hangs ends with `DidNotComeBack`."""
    handler = signal.getsignal(signal.SIGALRM) if hasattr(signal, "setitimer") else None
    if math.isinf(budget.seconds):
        yield
        return
    if handler is None or threading.current_thread() is not threading.main_thread():  # None: C code has set it
        with _telling(budget):
            yield
        return
    alarm = _Alarm(budget, handler)
    signal.signal(signal.SIGALRM, alarm.rings)
    alarm.take_over(*signal.setitimer(signal.ITIMER_REAL, 0.0))
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGALRM) == alarm.rings:  # else the user's code has set another one meanwhile
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *alarm.theirs())


@contextmanager
def _telling(budget: Budget) -> Iterator[None]:
    """What cannot be interrupted is at least named: on the standard error, while it still hangs."""
    watched, over = threading.get_ident(), threading.Event()

    def look() -> None:
        while not over.wait(max(budget.until_hanging, _SOON)):
            frame = sys._current_frames().get(watched)
            if budget.until_hanging <= 0 and frame is not None and sys.__stderr__ is not None:
                hangs = DidNotComeBack(budget.hanging_after, user_place(frame))
                sys.__stderr__.write(f"\ntrainhealth: {hangs}, and cannot be interrupted here\n")
                return

    watch = threading.Thread(target=look, name="trainhealth-watch", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


class _Alarm:
    def __init__(self, budget: Budget, handler: Any) -> None:
        self._budget, self._handler = budget, handler
        #: When the handler that was there before wants to be called, and how often after that.
        self._their_time, self._their_interval = math.inf, 0.0

    def take_over(self, remaining: float, interval: float) -> None:
        if remaining:
            self._their_time, self._their_interval = monotonic.now() + remaining, interval
        self._set(self._budget.until_hanging)

    def theirs(self) -> tuple[float, float]:
        """What is left of the timer that was there before."""
        if math.isinf(self._their_time):
            return 0.0, 0.0
        return max(self._their_time - monotonic.now(), _AT_ONCE), self._their_interval

    def _set(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(min(seconds, self._their_time - monotonic.now()), _AT_ONCE))

    def rings(self, number: int, frame: FrameType | None) -> None:
        if monotonic.now() >= self._their_time:
            self._their_time = monotonic.now() + self._their_interval if self._their_interval else math.inf
            self._set(max(self._budget.until_hanging, _SOON))
            self._call_theirs(number, frame)
        elif not self._budget.hangs():
            self._set(self._budget.until_hanging)
        elif not _is_interruptible(frame):
            self._set(_SOON)
        else:
            seconds = self._budget.hanging_after
            self._set(seconds)  # once more, if somebody catches it and goes on
            raise DidNotComeBack(seconds, user_place(frame))

    def _call_theirs(self, number: int, frame: FrameType | None) -> None:
        if callable(self._handler):
            self._handler(number, frame)
        elif self._handler == signal.SIG_DFL:  # it ends the process, as it would have done without us
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


def _is_interruptible(frame: FrameType | None) -> bool:
    """The user's code is at work, or what it calls: ours must not be left half done, when it puts things back say."""
    while frame is not None:
        if is_engine_frame(frame):
            return True
        if is_ours(frame.f_code.co_filename):
            return False
        if not is_library_file(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False
