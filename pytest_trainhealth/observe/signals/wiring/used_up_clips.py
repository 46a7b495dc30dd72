"""Clipping that is given an iterator which is used up: it clips nothing, without a word.

`filter()`, `map()` and generators yield each parameter once. Whoever keeps one and clips with it at every step clips
nothing from the second time on, or from the first if an optimizer was made of it. The same iterator is handed in again,
and no gradient is read: both have to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from types import FrameType
from typing import Any

from torch.autograd import grad_mode
from torch.nn.utils import clip_grad

from ....records.verdict import Place
from ....records.wiring import UsedUpClip
from ....tensors.function_modes import FunctionMode
from ...calls.grad_reads import reader, reads_grad
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: What `clip_grad_norm_` begins with, behind which a function mode sees what it was given. (`clip_grad_value_` raises
#: an error of its own where it is given nothing.)
_BEGINS = "_set_grad_enabled"
_CLIPS = "clip_grad_norm_"


class UsedUpClips(Signal):
    NAME, COST = "used_up_clips", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open = ExitStack()
        #: Iterators that were handed in before, kept so that their ids are not reused, and where.
        self._known: dict[int, Iterator[Any]] = {}
        #: In this step: calls with one of these that have read no gradient yet, by their line.
        self._pending: dict[str, UsedUpClip] = {}
        self._last: Place | None = None

    def step_begins(self, batch: object) -> None:
        if self._run.sampled:
            self._open.enter_context(_Mode(self))

    def step_ends(self) -> None:
        self._open.close()
        for key, call in self._pending.items():
            record = self._run.trace.wiring.used_up_clips.setdefault(key, call)
            record.steps.append(self._run.step)
        self._pending.clear()

    def run_ends(self) -> None:
        self._open.close()
        self._known.clear()

    def _begins(self, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        parameters = given[0] if given else named.get("parameters")
        limit = given[1] if len(given) > 1 else named.get("max_norm")
        self._last = place = user_place()
        if not isinstance(parameters, Iterator) or place is None:
            return
        if id(parameters) not in self._known:
            self._known[id(parameters)] = parameters
        elif isinstance(limit, (int, float)) and not math.isinf(limit):
            self._pending[str(place)] = UsedUpClip(place, float(limit))

    def _reads(self) -> None:
        """An object of the user's own that begins anew each time is an iterator, too."""
        self._pending.pop(str(self._last), None)


class _Mode(FunctionMode):
    def __init__(self, signal: UsedUpClips) -> None:
        super().__init__()
        self._signal = signal

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") == _BEGINS:
            with self._signal._reading():
                call = _call()
                if call is not None:
                    self._signal._begins(*call)
        result = func(*args, **(kwargs or {}))
        if reads_grad(func) and self._signal._pending:
            with self._signal._reading():
                frame = reader()
                if frame is not None and frame.f_code.co_filename == clip_grad.__file__:
                    self._signal._reads()
        return result


def _call() -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """What the user has handed to the clipping function that switches gradients off right now.

    torch wraps it in one that does so, which is the only frame that still has it.
    """
    frame: FrameType | None = reader()
    while frame is not None and frame.f_code.co_filename == grad_mode.__file__:
        entering, frame = frame.f_code.co_name == "__enter__", frame.f_back
        if entering:
            break
    else:
        return None
    if frame is None or frame.f_code.co_filename != clip_grad.__file__:
        return None
    found = frame.f_locals
    if getattr(found.get("func"), "__name__", "") != _CLIPS or "args" not in found:
        return None
    return tuple(found["args"]), dict(found.get("kwargs", {}))
