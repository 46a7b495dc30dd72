"""Puts function modes on torch's stack and takes them off, wherever they stand in it.

A mode's own exit takes off whatever is on top, which may be another's: so ours stand below all modes of the user, whose
exits then find their own. And a call of any torch function passes through all modes that are on, at two to four
microseconds each: an optimizer's step consists of a hundred calls that no forward pass makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from weakref import WeakSet

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.overrides import TorchFunctionMode

from .tracing import is_traced

_P = ParamSpec("_P")
_R = TypeVar("_R")


def inside_transform() -> bool:
    """Whether code runs inside `torch.func`: there a tensor may stand for many, or for a parameter of a module."""
    return peek_interpreter_stack() is not None


class FunctionMode(TorchFunctionMode):
    """What all modes here derive from: at its exit this very mode is taken off, whatever stands on it by then.

    Signals put theirs on when a step begins and take them off in the same order, so the first one is not on top. A step
    may end while torch calls a mode, as with `torch.func`: then the mode is not on the stack, and torch puts it back
    afterwards. It is taken off later, by `take_off_ended`.

    While torch only traces the user's code, a mode lets everything pass.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        own = cls.__dict__.get("__torch_function__")
        if own is not None:
            cls.__torch_function__ = _passing_while_traced(own)  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        """Above what stands below all others (the default device, and those of ours that are on), below the rest."""
        modes = _stack()
        at = next((place for place, each in enumerate(modes) if not _stands_below(each)), len(modes))
        last = max((place for place, each in enumerate(modes) if isinstance(each, FunctionMode)), default=-1)
        _exchange(modes, [*modes[: max(at, last + 1)], self, *modes[max(at, last + 1) :]])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if _take_off(self) is None:
            _ended.add(self)


def _passing_while_traced(own: Callable[..., Any]) -> Callable[..., Any]:
    # by this name, whoever looks for the user's frame knows it
    @wraps(own)
    def __torch_function__(  # noqa: N807
        self: Any, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        # torch.compile takes the first question for a constant, and sees nothing of ours
        if torch.compiler.is_compiling() or is_traced():
            return func(*args, **(kwargs or {}))
        return own(self, func, types, args, kwargs)

    return __torch_function__


def _stands_below(mode: TorchFunctionMode) -> bool:
    """Ours, and the default device, which torch wants at the bottom; `with torch.device(...)` is one like others."""
    default = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return isinstance(mode, FunctionMode) or mode is default


def hidden() -> list[TorchFunctionMode] | None:
    """Takes the modes of others off, but for the default device. None if there are none."""
    modes = _stack()
    others = [mode for mode in modes if not _stands_below(mode)]
    if not others:
        return None
    _exchange(modes, [mode for mode in modes if _stands_below(mode)])
    return others


def shown(others: list[TorchFunctionMode]) -> None:
    """Puts back what `hidden` has taken off: above all of ours, as they stood."""
    for mode in others:
        torch._C._push_on_torch_function_stack(mode)


#: Modes whose exit came while they were off the stack.
_ended: WeakSet[FunctionMode] = WeakSet()


def take_off_ended() -> None:
    """At the end of a run, when no mode is being called."""
    for mode in list(_ended):
        while _take_off(mode) is not None:
            pass
    _ended.clear()


@contextmanager
def none_left() -> Iterator[None]:
    """Whatever happens in between, ours that were not on before are off afterwards: a mode that stayed on would see the
    rest of the process, and cost every call in it."""
    before = {id(mode) for mode in _stack()}
    try:
        yield
    finally:
        for mode in _stack():
            if isinstance(mode, FunctionMode) and id(mode) not in before:
                _take_off(mode)


def unseen(measures: Callable[_P, _R]) -> Callable[_P, _R]:
    """For functions that only read what is there: none of our modes has to see that, and each costs every call.

    A model of 50,000 tensors makes millions of such calls. Modes of others stay on. The function must neither put modes
    on nor take them off.
    """

    @wraps(measures)
    def measuring(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        modes = _stack()
        others = [mode for mode in modes if not isinstance(mode, FunctionMode)]
        if len(others) == len(modes):
            return measures(*args, **kwargs)
        _exchange(modes, others)
        try:
            return measures(*args, **kwargs)
        finally:
            _exchange(others, modes)

    return measuring


class Lifted:
    """Takes a mode off for a while, and puts it back where it stood. Calls may be nested."""

    def __init__(self, mode: TorchFunctionMode) -> None:
        self._mode = mode
        self._depth = 0
        self._at: int | None = None

    def lift(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._at = _take_off(self._mode)

    def put_back(self) -> None:
        if self._depth:
            self._depth -= 1
            if not self._depth:
                self._insert()

    def end(self) -> None:
        """Back in its place, however often it was lifted: a step that raised has not put it back."""
        if self._depth:
            self._depth = 0
            self._insert()

    def _insert(self) -> None:
        at, self._at = self._at, None
        if at is not None:
            above = _stack()[at:]
            for _ in above:
                torch._C._pop_torch_function_stack()
            for mode in (self._mode, *above):
                torch._C._push_on_torch_function_stack(mode)


def _take_off(mode: TorchFunctionMode) -> int | None:
    """Where it stood; None if it is not on the stack."""
    if not torch._C._len_torch_function_stack():  # as at most steps, and every step asks
        return None
    modes = _stack()
    at = next((place for place, each in enumerate(modes) if each is mode), None)
    if at is None:
        return None
    for _ in modes[at:]:
        torch._C._pop_torch_function_stack()
    for above in modes[at + 1 :]:
        torch._C._push_on_torch_function_stack(above)
    return at


def _exchange(old: list[TorchFunctionMode], new: list[TorchFunctionMode]) -> None:
    for _ in old:
        torch._C._pop_torch_function_stack()
    for mode in new:
        torch._C._push_on_torch_function_stack(mode)


def _stack() -> list[TorchFunctionMode]:
    """The bottom first."""
    return [torch._C._get_function_stack_at(at) for at in range(torch._C._len_torch_function_stack())]
