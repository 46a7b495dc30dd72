"""Calls of modules, seen without a trace on any module: nothing is hung on what the user copies, saves or counts.

A hook that is registered with a module is part of it: it is pickled with it, deep copies take it along, and compiled
graphs are bound to it. Hooks for all modules are no better: with one of those, torch.export refuses to work. So the
function behind `nn.Module.__call__` is another one while anybody looks, with a table of who wants to see what; torch's
compiler, which has a way of its own into modules, never meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from types import FunctionType
from typing import Any

import torch
from torch import nn

from ...tensors.tracing import is_traced

Hook = Callable[..., Any]


class Watching:
    """Of one hook, until it is removed."""

    def __init__(self, table: _Table, hook: Hook, module: nn.Module | None, *, with_kwargs: bool) -> None:
        #: The module is kept: another one must not get its id.
        self._table, self.hook, self.module, self.with_kwargs = table, hook, module, with_kwargs
        self.key = None if module is None else id(module)
        table.add(self)

    def remove(self) -> None:
        """And lets go of the module: who keeps this need not keep that."""
        self._table.take_out(self)
        self.module = None


class _Table:
    def __init__(self) -> None:
        self._hooks: dict[int | None, tuple[Watching, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def add(self, watching: Watching) -> None:
        self._hooks[watching.key] = (*self._hooks.get(watching.key, ()), watching)
        _put_in_place()

    def take_out(self, watching: Watching) -> None:
        left = tuple(each for each in self._hooks.get(watching.key, ()) if each is not watching)
        if left:
            self._hooks[watching.key] = left
        else:
            self._hooks.pop(watching.key, None)
        _put_in_place()

    def set_aside(self) -> dict[int | None, tuple[Watching, ...]]:
        hooks, self._hooks = self._hooks, {}
        return hooks

    def put_back(self, hooks: dict[int | None, tuple[Watching, ...]]) -> None:
        self._hooks = hooks

    def of(self, module: nn.Module) -> tuple[Watching, ...]:
        return (*self._hooks.get(None, ()), *self._hooks.get(id(module), ()))


_before, _after, _at_the_end = _Table(), _Table(), _Table()


def before_call(hook: Hook, module: nn.Module | None = None, *, with_kwargs: bool = False) -> Watching:
    """`hook(module, args)`, before each call of this module or, without one, of any. What it returns replaces `args`;
    with `with_kwargs` it is `hook(module, args, kwargs)`, and returns both."""
    return Watching(_before, hook, module, with_kwargs=with_kwargs)


def after_call(
    hook: Hook, module: nn.Module | None = None, *, with_kwargs: bool = False, always_call: bool = False
) -> Watching:
    """`hook(module, args, result)`, or `hook(module, args, kwargs, result)`. What it returns replaces the result.

    `always_call`: also after a call that raised, without a result.
    """
    return Watching(_at_the_end if always_call else _after, hook, module, with_kwargs=with_kwargs)


@contextmanager
def nobody_looks() -> Iterator[None]:
    """For calls that are not the training's. Whoever begins to look meanwhile sees them, and has to stop in time."""
    tables = (_before, _after, _at_the_end)
    looking = [table.set_aside() for table in tables]
    try:
        yield
    finally:
        for table, hooks in zip(tables, looking, strict=True):
            table.put_back(hooks)
        _put_in_place()


def _tell_before(module: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
    for each in _before.of(module):
        if each.with_kwargs:
            changed = each.hook(module, args, kwargs)
            args, kwargs = (args, kwargs) if changed is None else changed
        else:
            changed = each.hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _tell_after(table: _Table, module: nn.Module, args: Any, kwargs: Any, result: Any) -> Any:
    for each in table.of(module):
        facts = (args, kwargs, result) if each.with_kwargs else (args, result)
        changed = each.hook(module, *facts)
        result = result if changed is None else changed
    return result


def _in_the_name_of_torch(function: Any) -> Any:
    """Whoever looks for the user's line walks through these frames, as through all others of torch."""
    code = function.__code__.replace(co_filename=nn.modules.module.__file__)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


@_in_the_name_of_torch
def _looked_at(original: Callable[..., Any], self: nn.Module, args: Any, kwargs: Any) -> Any:
    args, kwargs = _tell_before(self, args, kwargs)
    try:
        result = original(self, *args, **kwargs)
    except Exception:
        with suppress(Exception):
            _tell_after(_at_the_end, self, args, kwargs, None)
        raise
    result = _tell_after(_after, self, args, kwargs, result)
    return _tell_after(_at_the_end, self, args, kwargs, result)


_original: Any = None


def _put_in_place() -> None:
    """Every call of a module pays for being looked at: torch's own function is in place unless somebody looks."""
    global _original
    if _before or _after or _at_the_end:
        if _original is None:
            _original = nn.Module._call_impl
            nn.Module._call_impl = _calling(_original)  # type: ignore[method-assign]
    elif _original is not None:
        nn.Module._call_impl, _original = _original, None  # type: ignore[method-assign]


def _calling(original: Callable[..., Any]) -> Any:
    @wraps(original)
    @_in_the_name_of_torch
    def _call_impl(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        # the first is a constant for torch.compile, which goes no further
        if torch.compiler.is_compiling() or is_traced():
            return original(self, *args, **kwargs)
        return _looked_at(original, self, args, kwargs)

    return _call_impl
