"""Calls of modules, seen without a trace on any module: nothing is hung on what the user copies, saves or counts.

A hook that is registered with a module is part of it: it is pickled with it, deep copies take it along, and a compiled
graph is bound to it. So there are two hooks for all modules, which never change, and a table of who wants to see what.
They are registered only while anybody does: every call of a module pays for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

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
        self._table.take_out(self)


class _Table:
    def __init__(self, register: Callable[[], Any]) -> None:
        self._register, self._handle = register, None
        self._hooks: dict[int | None, tuple[Watching, ...]] = {}

    def add(self, watching: Watching) -> None:
        if not self._hooks:
            self._handle = self._register()
        self._hooks[watching.key] = (*self._hooks.get(watching.key, ()), watching)

    def take_out(self, watching: Watching) -> None:
        left = tuple(each for each in self._hooks.get(watching.key, ()) if each is not watching)
        if left:
            self._hooks[watching.key] = left
        else:
            self._hooks.pop(watching.key, None)
        if not self._hooks and self._handle is not None:
            self._handle.remove()
            self._handle = None

    def of(self, module: nn.Module) -> tuple[Watching, ...]:
        found = (*self._hooks.get(None, ()), *self._hooks.get(id(module), ()))
        return found if found and not is_traced() else ()


def _begins(module: nn.Module, args: Any) -> Any:
    if torch.compiler.is_compiling():  # a constant for torch.compile, which goes no further
        return None
    return _tell_before(module, args)


def _ends(module: nn.Module, args: Any, result: Any) -> Any:
    if torch.compiler.is_compiling():
        return None
    return _tell_after(_after, module, args, result)


def _ends_or_raises(module: nn.Module, args: Any, result: Any) -> Any:
    if torch.compiler.is_compiling():
        return None
    return _tell_after(_at_the_end, module, args, result)


_before = _Table(lambda: register_module_forward_pre_hook(_begins))
_after = _Table(lambda: register_module_forward_hook(_ends))
_at_the_end = _Table(lambda: register_module_forward_hook(_ends_or_raises, always_call=True))


def before_call(hook: Hook, module: nn.Module | None = None, *, with_kwargs: bool = False) -> Watching:
    """`hook(module, args)`, before each call of this module or, without one, of any. What it returns replaces `args`;
    with `with_kwargs` it is `hook(module, args, kwargs)`, and returns both."""
    return Watching(_before, hook, module, with_kwargs=with_kwargs)


def after_call(
    hook: Hook, module: nn.Module | None = None, *, with_kwargs: bool = False, always_call: bool = False
) -> Watching:
    """`hook(module, args, result)`, or `hook(module, args, kwargs, result)`. What it returns replaces the result.

    `always_call`: also after a call that raised.
    """
    return Watching(_at_the_end if always_call else _after, hook, module, with_kwargs=with_kwargs)


def _tell_before(module: nn.Module, args: Any) -> Any:
    watching = _before.of(module)
    if not watching:
        return None
    given, kwargs = args, None
    for each in watching:
        if not each.with_kwargs:
            changed = each.hook(module, given)
            if changed is not None:
                given = changed if isinstance(changed, tuple) else (changed,)
            continue
        kwargs = _keywords(sys._getframe(2)) if kwargs is None else kwargs
        changed = each.hook(module, given, kwargs)
        if changed is not None:
            given = changed[0]
            if changed[1] is not kwargs:  # the dict of this very call
                named = dict(changed[1])
                kwargs.clear()
                kwargs.update(named)
    return None if given is args else given


def _tell_after(table: _Table, module: nn.Module, args: Any, result: Any) -> Any:
    watching = table.of(module)
    if not watching:
        return None
    left, kwargs = result, None
    for each in watching:
        if each.with_kwargs:
            kwargs = _keywords(sys._getframe(2)) if kwargs is None else kwargs
            changed = each.hook(module, args, kwargs, left)
        else:
            changed = each.hook(module, args, left)
        left = left if changed is None else changed
    return None if left is result else left


def _keywords(frame: FrameType) -> dict[str, Any]:
    """Of the call: torch gives them to hooks of one module only. Its frame has them."""
    found = frame.f_locals.get("kwargs")
    return found if isinstance(found, dict) else {}
