"""Remembers a training bit by bit, and restores it.

The roots are the user's model, optimizers, schedulers and step. Everything mutable that can be reached from there is
remembered: tensors by value, containers and objects by what they hold, a function's closure and the globals it
names. Restoring writes the old values into the *same* objects, so everything else that refers to them sees them
restored as well. Every undo is tried: what cannot be put back is told by name, and keeps nothing else from it.
"""

from __future__ import annotations

import copy
import random
import threading
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.data import DataLoader, Dataset, Sampler

from .paths import Path, root
from .user_code import names_used, written_by_user
from .values import Undo, array_undo, rebind, refill, refill_dict, refill_set, set_slot, slots, tensor_undo

#: Objects with the paths by which they are reached.
Held = Iterable[tuple[Path, Any]]

#: Not followed any further: code, locks, files; and data sets, whose batches are remembered one by one when used.
_LEAVES = (
    str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.BuiltinFunctionType, torch.dtype,
    torch.device, torch.Size, range, slice, DataLoader, Dataset, Sampler, threading.Thread, types.FrameType,
)  # fmt: skip
#: Objects of these packages are never part of a training's state, and lead to everything else in the process.
_FOREIGN = (
    "_pytest",
    "pluggy",
    "logging",
    "io",
    "_io",
    "threading",
    "_thread",
    "multiprocessing",
    "concurrent",
    "socket",
)
#: Longest message of an error that is shown. By judgement: a note stays one line.
_LONGEST_REASON = 120


class Snapshot:
    """The current state of everything that can be reached from the roots. `restore()` may be called many times."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._undo: list[tuple[Path, Undo]] = []
        self._seen: dict[int, Any] = {}  # keeps everything alive, so that no id is used twice
        self.one_way: list[str] = []
        todo: deque[tuple[Path, Any]] = deque((root(each), each) for each in roots)
        while todo:
            path, thing = todo.popleft()
            if isinstance(thing, _LEAVES) or id(thing) in self._seen:
                continue
            self._seen[id(thing)] = thing
            todo.extend(self._remember(thing, path))

    def restore(self) -> list[str]:
        """What could not be put back, by name and with the reason. Everything else is as it was."""
        failed: list[str] = []
        with torch.no_grad():
            for path, undo in self._undo:
                try:
                    undo()
                except Exception as error:  # a user's object may refuse in any way; nothing else suffers for it
                    why = " ".join(f"{type(error).__name__}: {error}".split())
                    failed.append(f"`{path}` ({why:.{_LONGEST_REASON}})")
        return failed

    def _remember(self, thing: Any, path: Path) -> Held:
        """Notes how to restore this one object; returns the objects it holds."""
        if isinstance(thing, Tensor):
            return self._tensor(thing, path)
        if isinstance(thing, np.ndarray):
            if thing.flags.writeable:
                self._undo.append((path, array_undo(thing)))
            return ()
        if isinstance(thing, dict):
            return self._dict(thing, path)
        if isinstance(thing, (list, deque, bytearray)):
            items = list(thing)
            self._undo.append((path, lambda: refill(thing, items)))
            return () if isinstance(thing, bytearray) else _items(items, path)
        if isinstance(thing, set):
            members = set(thing)
            self._undo.append((path, lambda: refill_set(thing, members)))
            return _items(members, path)
        if isinstance(thing, (tuple, frozenset)):
            return _items(thing, path)
        if isinstance(thing, types.FunctionType):
            return self._function(thing, path)
        if isinstance(thing, types.MethodType):
            return ((path, thing.__self__), (path, thing.__func__))
        return self._object(thing, path)

    def _tensor(self, tensor: Tensor, path: Path) -> Held:
        if is_lazy(tensor) or tensor.is_meta or tensor.is_inference():
            return ()
        self._undo.append((path, tensor_undo(tensor)))
        held = [(path.attribute(name), value) for name, value in vars(tensor).items()]
        if tensor.is_leaf and tensor.grad is not None:
            held.append((path.attribute("grad"), tensor.grad))
        return held

    def _dict(self, mapping: dict[Any, Any], path: Path, *, attributes: bool = False) -> Held:
        items = dict(mapping)
        self._undo.append((path, lambda: refill_dict(mapping, items)))
        step = path.attribute if attributes else path.item
        return [(step(key), each) for key, value in items.items() for each in (key, value)]

    def _function(self, function: types.FunctionType, path: Path) -> Held:
        here = root(function)
        held = _items(function.__defaults__ or (), here)
        held += [(here.attribute(name), value) for name, value in (function.__kwdefaults__ or {}).items()]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            held.extend(self._cell(cell, here.attribute(name)))
        if written_by_user(function):
            names = [n for n in names_used(function.__code__) if n in function.__globals__]
            values = {n: function.__globals__[n] for n in names}
            self._undo.append((here, lambda: rebind(function.__globals__, values)))
            module = Path(None, "root", (function.__module__ or "").rpartition(".")[2])
            held += [(module.attribute(name), value) for name, value in values.items()]
        wrapped = getattr(function, "__wrapped__", None)
        return held if wrapped is None else [*held, (path, wrapped)]

    def _cell(self, cell: types.CellType, path: Path) -> Held:
        try:
            content = cell.cell_contents
        except ValueError:  # a name that is not bound yet
            return ()

        def undo() -> None:
            cell.cell_contents = content

        self._undo.append((path, undo))
        return ((path, content),)

    def _object(self, thing: Any, path: Path) -> Held:
        state = _random_state_undo(thing)
        if state is not None:
            self._undo.append((path, state))
            return ()
        if hasattr(thing, "__next__") and hasattr(thing, "__setstate__"):  # list, tuple and range iterators
            parts = thing.__reduce__()
            if len(parts) == 3:
                self._undo.append((path, lambda: thing.__setstate__(parts[2])))
            return ()
        if isinstance(thing, (types.GeneratorType, types.AsyncGeneratorType)):
            self.one_way.append(f"the generator {thing.__name__}()")
            return ()
        if type(thing).__module__.partition(".")[0] in _FOREIGN:
            return ()
        state_of = getattr(thing, "__dict__", None)
        held: list[tuple[Path, Any]] = []
        if isinstance(state_of, dict) and id(state_of) not in self._seen:
            self._seen[id(state_of)] = state_of
            held.extend(self._dict(state_of, path, attributes=True))
        for slot in slots(type(thing)):
            if hasattr(thing, slot):
                value = getattr(thing, slot)
                there = path.attribute(slot)
                self._undo.append((there, lambda slot=slot, value=value: set_slot(thing, slot, value)))  # type: ignore[misc]
                held.append((there, value))
        if isinstance(thing, (nn.Module, torch.optim.Optimizer)) or not callable(thing):
            return held
        call = type(thing).__dict__.get("__call__")
        return [*held, (path, call)] if isinstance(call, types.FunctionType) else held


def _items(values: Iterable[Any], path: Path) -> list[tuple[Path, Any]]:
    return [(path.item(index), value) for index, value in enumerate(values)]


def _random_state_undo(thing: Any) -> Undo | None:
    """None if it is no source of random numbers."""
    if isinstance(thing, torch.Generator):
        state = thing.get_state()
        return lambda: _discard(thing.set_state(state))
    if isinstance(thing, random.Random):
        inner = thing.getstate()
        return lambda: thing.setstate(inner)
    if isinstance(thing, np.random.Generator):
        bits = thing.bit_generator
        numpy_state = copy.deepcopy(bits.state)
        return lambda: setattr(bits, "state", numpy_state)
    if isinstance(thing, np.random.RandomState):
        old = thing.get_state()
        return lambda: thing.set_state(old)
    return None


def _discard(_: Any) -> None:
    return None
