"""Remembers a training bit by bit, and restores it.

The roots are the user's model, optimizers, schedulers and step. Everything mutable that can be reached from there is
remembered: tensors by value, containers and objects by what they hold, a function's closure and the globals it
names. Restoring writes the old values into the *same* objects, so everything else that refers to them sees them
restored as well. Iterators that cannot be rewound are exchanged for copies until they are given back.

Every undo is tried: what cannot be put back is told by name, and keeps nothing else from it.
"""

from __future__ import annotations

import functools
import gc
import threading
import types
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import code_state, containers, objects
from .data_parts import DataPart
from .iterators import inside, is_unread, moves, named, sources
from .notes import Held, Notes
from .paths import Path, root
from .undoing import undo_all
from .user_code import module_of_user, written_by_user

#: Not followed any further: values, code, locks.
_LEAVES = (
    str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, torch.Size, range, slice,
    threading.Thread, types.FrameType,
)  # fmt: skip


class Snapshot:
    """The current state of everything that can be reached from the roots.

    `restore()` may be called many times, and puts copies in the place of iterators; `give_back()` puts the user's own
    there, which nobody has read from if the first run began with `restore()` as well.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self._notes = Notes()
        todo: deque[tuple[Path, Any]] = deque((root(each), each) for each in roots)
        parts: deque[tuple[Path, Any]] = deque()  # later: less is remembered about what only the data hold
        with _uncollected():
            while todo or parts:
                path, thing = (todo or parts).popleft()
                if isinstance(thing, DataPart) and todo:
                    parts.append((path, thing))
                elif not isinstance(thing, _LEAVES) and self._notes.meet(thing):
                    todo.extend(_remember(self._notes, thing, path))

    @property
    def one_way(self) -> list[str]:
        """What cannot start again: its name, and what it is. A generator can, as long as nobody has begun it."""
        return [f"`{path}` is {named(thing)}" for path, thing in self._read()]

    def one_way_also_in(self, other: Snapshot) -> list[str]:
        """The same, if the other one has met the same object. It may have ended by then."""
        theirs = {id(each) for _, thing in other._notes.one_way for each in sources(thing)}
        shared = [
            (path, thing)
            for path, thing in self._read()
            if any(id(each) in theirs or other._notes.has_met(each) for each in sources(thing))
        ]
        return [f"`{path}` is {named(thing)}" for path, thing in shared]

    def _read(self) -> list[tuple[Path, Any]]:
        return [(path, thing) for path, thing in self._notes.one_way if not is_unread(thing)]

    @property
    def lends(self) -> bool:
        """Whether even the first run needs copies of iterators."""
        return self._notes.lends

    def restore(self) -> list[str]:
        """What could not be put back, by name and with the reason. Everything else is as it was."""
        self._notes.lend()
        return self._undo_all()

    def give_back(self) -> list[str]:
        """The same, with the user's own iterators."""
        self._notes.take_back()
        return self._undo_all()

    def forget(self) -> None:
        """When nothing is put back any more: the copies are as large as the training."""
        self._notes.forget()

    def _undo_all(self) -> list[str]:
        with torch.no_grad():
            return undo_all(self._notes.undo)


def _remember(notes: Notes, thing: Any, path: Path) -> Held:
    """Notes how to restore this one object; returns the objects it holds."""
    if isinstance(thing, Tensor):
        return containers.tensor(notes, thing, path)
    if isinstance(thing, np.ndarray):
        return containers.numpy_array(notes, thing, path)
    if isinstance(thing, dict):
        return containers.dictionary(notes, thing, path)
    if isinstance(thing, (list, deque, bytearray, array)):
        return containers.sequence(notes, thing, path)
    if isinstance(thing, set):
        return containers.members(notes, thing, path)
    if moves(thing):
        return _iterator(notes, thing, path)
    if isinstance(thing, (tuple, frozenset)):
        return containers.fixed(notes, thing, path)
    if isinstance(thing, types.FunctionType):
        return code_state.function(notes, thing, path)
    if isinstance(thing, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)):
        return code_state.method(thing, path)
    if isinstance(thing, type):
        return code_state.user_class(notes, thing) if written_by_user(thing) else ()
    if isinstance(thing, types.ModuleType):
        return code_state.module_names(notes, thing) if module_of_user(thing) else ()
    if isinstance(thing, functools.partial):
        return code_state.partial(notes, thing, path)
    return objects.remember(notes, thing, path)


def _iterator(notes: Notes, thing: Any, path: Path) -> Held:
    if notes.add_iterator(thing):
        return [(path, each) for each in inside(thing) if not moves(each)]
    notes.one_way.append((path, thing))
    return ()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Everything that is made is kept: looking for garbage among it took half the time at 50,000 tensors."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
