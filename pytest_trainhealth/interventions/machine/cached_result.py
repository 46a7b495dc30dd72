"""The slowest torch function of one line, or all of them, is not computed again: its earlier result is reused.

Nothing sensible is learnt that way, but a step takes as long as it would if the function took no time.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from types import FrameType
from typing import Any

from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.authorship import is_library_file
from ...tensors.batches import map_tensors, tensors
from ...tensors.function_modes import FunctionMode

#: Steps in which the functions of the line are timed. By judgement: 3, as the same function is the slowest at each.
_TIMED = 3


class CachedResult(Listener):
    def __init__(self, run: Run, stack: ExitStack, file: str, line: int, whole_line: bool = False) -> None:
        self._run = run
        self._mode = _Remembering(file, line, whole_line)
        self._open = ExitStack()
        stack.callback(self._open.close)

    def step_begins(self, batch: object) -> None:
        self._open.close()
        if self._run.step >= _TIMED:
            self._mode.choose()
        self._open.enter_context(self._mode)

    def step_ends(self) -> None:
        self._open.close()


class _Remembering(FunctionMode):
    def __init__(self, file: str, line: int, whole_line: bool) -> None:
        super().__init__()
        self._at, self._whole_line = (os.path.abspath(file), line), whole_line
        self._chosen = False
        self._seconds: dict[Any, float] = {}
        self._results: dict[Any, Any] = {}

        #: The slowest function of the line, once known.
        self._slowest: Any = None

    def choose(self) -> None:
        self._chosen = True
        if self._slowest is None and self._seconds:
            self._slowest = max(self._seconds, key=self._seconds.__getitem__)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._chosen and not self._whole_line and func is not self._slowest:
            return func(*args, **kwargs)  # return quickly: a step may call thousands of functions
        if _line() != self._at:
            return func(*args, **kwargs)
        given = [t for _, t in tensors((args, kwargs))]
        key = (func, *(tuple(t.shape) for t in given))
        if self._chosen and key in self._results:
            return map_tensors(lambda _, result: _hung_on(result, given), self._results[key])
        began = time.perf_counter()
        result = func(*args, **kwargs)
        if next(tensors(result), None) is not None and not _writes(func):
            self._seconds[func] = self._seconds.get(func, 0.0) + time.perf_counter() - began
            self._results[key] = map_tensors(lambda _, each: each.detach(), result)
        return result


def _line() -> tuple[str, int] | None:
    """The innermost line of the user's code, without looking up its text for a `Place`: this runs at every call."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if not is_library_file(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _hung_on(result: Tensor, given: list[Tensor]) -> Tensor:
    """The same values, attached to the graph of the inputs, so that everything before still gets its backward pass."""
    if not result.is_floating_point():
        return result
    zeros = [t.flatten()[:1].sum() * 0 for t in given if t.requires_grad and t.is_floating_point()]
    for zero in zeros:
        result = result + zero.to(result)
    return result


def _writes(func: Any) -> bool:
    name = getattr(func, "__name__", "")
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
