"""Which functions of ours run the user's training: above them on the stack nothing belongs to it any more.

They are known by their code and not by their name, so that one may be renamed or moved, and a user's function may be
called `take`. A generator's code is that of the function as written: `@engine_frame` stands below `@contextmanager`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: By identity: a code's own hash is worked out anew from all of it each time, and this is asked for frame after frame.
_CODES: dict[int, CodeType] = {}


def engine_frame(function: _Function) -> _Function:
    """Marks a function from which the user's training is called: the built-in step, a run, a factory's caller."""
    _CODES[id(function.__code__)] = function.__code__
    return function


def is_engine_frame(frame: FrameType) -> bool:
    return id(frame.f_code) in _CODES
