"""How long the functions take that each line of the user's code calls: torch's, numpy's, anything written in C.

Python's own profiling hook sees each such call and the frame that makes it, so a slow line is found whatever it calls.
"""

from __future__ import annotations

import sys
import time
from types import FrameType, ModuleType, TracebackType
from typing import Any

from ....records.speed import CallRecord
from ...source.authorship import is_library_file
from ...source.engine_frames import is_engine_frame
from ...source.places import place_of

_Key = tuple[str, str, int, bool]


class CallTimes:
    """Each call's own time in this thread, without that of the calls inside it.

    It is charged to the innermost line of the user's code; or, with `inside`, to the first line that this file calls.
    While a profiler written in C is active (cProfile, up to Python 3.11) nothing is recorded: Python has no way to
    restore it.
    """

    def __init__(self, inside: str | None = None) -> None:
        self._inside = inside
        self._seconds: dict[_Key, float] = {}
        self._calls: dict[_Key, int] = {}
        self._open: list[list[Any]] = []
        self._before: Any = None
        self._looking = False
        self.total = 0.0

    def __enter__(self) -> CallTimes:
        self._before = sys.getprofile()
        self._looking = self._before is None or callable(self._before)
        if self._looking:
            self._open.clear()
            self._began = time.perf_counter()
            sys.setprofile(self._on_event)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._looking:
            return
        sys.setprofile(self._before)
        self.total += time.perf_counter() - self._began

    def _on_event(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call":
            self._open.append([time.perf_counter(), 0.0, frame, function])
        elif event in ("c_return", "c_exception") and self._open:
            began, inside, caller, called = self._open.pop()
            took = time.perf_counter() - began
            if self._open:
                self._open[-1][1] += took
            line = _innermost(caller) if self._inside is None else _outermost(caller, self._inside)
            key = (_name(called), *line, _is_torch(called))
            self._seconds[key] = self._seconds.get(key, 0.0) + took - inside
            self._calls[key] = self._calls.get(key, 0) + 1

    def records(self, most: int = 12, steps: int = 1, whole: float | None = None) -> list[CallRecord]:
        """The slowest first; counts and seconds are per step, over `steps` steps of `whole` seconds each."""
        slowest = sorted(self._seconds.items(), key=lambda item: -item[1])[:most]
        total = max(self.total if whole is None else whole * steps, 1e-12)
        return [
            CallRecord(
                key[0],
                max(round(self._calls[key] / steps), 1),
                seconds / steps,
                min(seconds / total, 1.0),
                place_of(key[1], key[2]) if key[1] else None,
                key[3],
            )
            for key, seconds in slowest
        ]


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _innermost(frame: FrameType | None) -> tuple[str, int]:
    while frame is not None and not is_engine_frame(frame):
        if not is_library_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _outermost(frame: FrameType | None, file: str) -> tuple[str, int]:
    found = "", 0
    while frame is not None and frame.f_code.co_filename != file:
        if not is_library_file(frame.f_code.co_filename):
            found = frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return found


def _is_torch(function: Any) -> bool:
    return _comes_from(function).partition(".")[0] == "torch"


def _comes_from(function: Any) -> str:
    """The module of a function, or that of its class if it is a method."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        return str(getattr(function, "__module__", None) or getattr(owner, "__name__", ""))
    return (owner if isinstance(owner, type) else type(owner)).__module__
