"""Which of our functions run the user's training: their callers on the stack no longer belong to it.

They are recognised by their code object, not by name, so that they can be renamed or moved, and a user's function may
be called `take`. For a generator this is the code of the function as written: put `@engine_frame` below
`@contextmanager`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: By identity: a code object computes its hash from all its contents each time, and every frame is looked up here.
_CODES: dict[int, CodeType] = {}
#: Of functions that stand in for one of torch's, and do no more than report that it was called.
_STAND_INS: dict[int, CodeType] = {}


def engine_frame(function: _Function) -> _Function:
    """Marks a function that calls the user's training: the built-in step, a run, the caller of a factory."""
    _CODES[id(function.__code__)] = function.__code__
    return function


def stand_in(function: _Function) -> _Function:
    """Marks a function that the user's code calls instead of torch's: an error that comes through it is not ours."""
    _STAND_INS[id(function.__code__)] = function.__code__
    return function


def is_stand_in(code: CodeType) -> bool:
    return id(code) in _STAND_INS


def is_engine_file(file: str) -> bool:
    """Whether a function that calls the user's training is written there, beside those that help it."""
    return any(code.co_filename == file for code in _CODES.values())


def is_engine_frame(frame: FrameType) -> bool:
    return id(frame.f_code) in _CODES
