"""How long each line of the user's code takes, whatever it does: operators, loops, pure Python, functions of any kind.

Python's tracing hook reports when a line begins. A line's time includes that of the libraries it calls; the time in the
user's other functions is charged to their lines. Backward passes and updates are charged to no line. Tracing takes
time, too, and in a loop of plain Python more than the loop itself: so the same number of steps is also timed untraced,
and the difference is subtracted again, line by line. Of several steps the median counts: other work on the machine may
interrupt one.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace
from statistics import median
from types import FrameType, TracebackType
from typing import Any

from torch import nn

from ....records.speed import LineRecord
from ...source.authorship import is_library_file
from ...source.places import place_of
from .source_loops import loops_around

#: A file and a line of it.
Line = tuple[str, int]
#: For work that belongs to no line, and for what does not count at all.
_NOWHERE: Line = ("", 0)
_ASIDE: Line = ("", -1)
_CALLS_A_MODULE = nn.Module._call_impl.__code__


class LineTimes:
    """Times this thread, and functions that are called while it is open; to be opened once for each step.

    If not `traced`, it times steps as a whole, for comparison.
    """

    def __init__(self, *, traced: bool = True) -> None:
        self._traced = traced
        #: For each step, the seconds of each line.
        self.steps: list[dict[Line, float]] = []
        #: How often each line began.
        self.rounds: Counter[Line] = Counter()
        #: How many tracing events came while each line ran: its rounds, and the functions that libraries called.
        self.events: Counter[Line] = Counter()
        #: How many modules each line called, including modules inside them.
        self.modules: Counter[Line] = Counter()
        #: Lines that called a backward pass or an update, directly or through other functions.
        self.whole_steps: set[Line] = set()
        self._stack: list[Line] = [_NOWHERE]
        self._since = 0.0
        self._before: Any = None
        self._open = False

    def __enter__(self) -> LineTimes:
        self._before = sys.gettrace()
        self.steps.append({})
        self._stack, self._since = [_NOWHERE], time.perf_counter()
        self._open = True
        if self._traced:
            sys.settrace(self._called)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._traced:
            sys.settrace(self._before)
        self._charge()
        self._open = False

    def phase_begins(self) -> None:
        if not self._open:
            return
        self._charge()
        self.whole_steps.update(self._stack)
        self._stack.append(_ASIDE)

    def phase_ends(self) -> None:
        if not self._open:
            return
        self._charge()
        if len(self._stack) > 1:
            self._stack.pop()

    @property
    def whole(self) -> float:
        """Seconds of a complete step."""
        return median(sum(step.values()) for step in self.steps)

    @property
    def total(self) -> float:
        """Seconds of a step without backward passes and updates."""
        return median(sum(step.values()) - step.get(_ASIDE, 0.0) for step in self.steps)

    def own(self, untraced: LineTimes) -> dict[Line, float]:
        """Seconds per step of each line, and of work that belongs to no line, without the time that tracing took."""
        cost = max(self.total - untraced.total, 0.0) / max(self.events.total() - self.events[_ASIDE], 1)
        lines = {line for step in self.steps for line in step if line != _ASIDE}
        taken = {line: median(step.get(line, 0.0) for step in self.steps) for line in lines}
        return {line: max(seconds - cost * self.events[line], 0.0) for line, seconds in taken.items()}

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._charge()
        self.events[self._stack[-1]] += 1
        file = frame.f_code.co_filename
        events = None
        if not is_library_file(file):
            self._stack.append((file, frame.f_lineno))
            events = self._went_on
        elif frame.f_code is _CALLS_A_MODULE:
            self.modules[self._stack[-1]] += 1
        self._since = time.perf_counter()
        return events

    def _went_on(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._charge()
        if event == "line":
            line = self._stack[-1] = (frame.f_code.co_filename, frame.f_lineno)
            self.rounds[line] += 1
            self.events[line] += 1
        elif event == "return" and len(self._stack) > 1:
            self._stack.pop()
        self._since = time.perf_counter()
        return self._went_on

    def _charge(self) -> None:
        now = time.perf_counter()
        line = self._stack[-1]
        step = self.steps[-1]
        step[line] = step.get(line, 0.0) + now - self._since
        self._since = now


def slowest_line(times: LineTimes, untraced: LineTimes) -> LineRecord | None:
    every = times.own(untraced)
    own = {line: seconds for line, seconds in every.items() if line != _NOWHERE}
    if not own:
        return None
    line = max(own, key=own.__getitem__)
    modules = times.modules[line] // len(times.steps)
    return replace(_record(times, line, own[line], every, times.rounds[line]), modules=modules)


def slowest_loop(times: LineTimes, untraced: LineTimes) -> LineRecord | None:
    """The slowest among the outermost loops around each line; a loop over whole steps does not count."""
    every = times.own(untraced)
    seconds: dict[tuple[str, range], float] = {}
    rounds: dict[tuple[str, range], int] = {}
    for (file, number), own in every.items():
        around = [loop for loop in loops_around(file, number) if not _goes_through_steps(times, file, loop)]
        if around:
            key = file, around[0]
            seconds[key] = seconds.get(key, 0.0) + own
            if number != around[0].start or len(around[0]) == 1:  # a loop's first line runs once more, to find the end
                rounds[key] = max(rounds.get(key, 0), times.rounds[file, number])
    if not seconds:
        return None
    file, loop = key = max(seconds, key=seconds.__getitem__)
    return _record(times, (file, loop.start), seconds[key], every, rounds.get(key, 0))


def _goes_through_steps(times: LineTimes, file: str, loop: range) -> bool:
    return any(known == file and number in loop for known, number in times.whole_steps)


def _record(times: LineTimes, line: Line, seconds: float, every: dict[Line, float], rounds: int) -> LineRecord:
    share = seconds / max(sum(every.values()), 1e-12)
    return LineRecord(rounds // len(times.steps), seconds, share, place_of(*line))
