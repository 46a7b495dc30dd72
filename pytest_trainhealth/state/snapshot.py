"""Remembers a training bit by bit, and restores it.

The roots are the user's model, optimizers, schedulers and step. Everything mutable that can be reached from there is
remembered: tensors by value, containers and objects by what they hold, a function's closure and the globals it
names. Restoring writes the old values into the *same* objects, so everything else that refers to them sees them
restored as well. Iterators that cannot be rewound are exchanged for copies until they are given back.

Every undo is tried: what cannot be put back is told by name, and keeps nothing else from it.
"""

from __future__ import annotations

import copy
import functools
import inspect
import random
import threading
import types
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.utils.data import dataloader

from .data_parts import KINDS, DataPart, undo_of
from .data_parts import held as held_by
from .iterators import Copies, copied, inside, is_unread, loader_iterator_undo, moves, named
from .paths import Path, root
from .user_code import class_state, names_bound, names_used, written_by_user
from .values import (
    Undo,
    array_undo,
    cache_undo,
    context_undo,
    rebind,
    rebind_class,
    refill,
    refill_dict,
    refill_set,
    set_slot,
    slots,
    tensor_undo,
    unset_slot,
)  # fmt: skip

#: Objects with the paths by which they are reached.
Held = Iterable[tuple[Path, Any]]

#: Not followed any further: values, code, locks, files.
_LEAVES = (
    str, bytes, int, float, complex, bool, type(None), types.ModuleType, torch.dtype, torch.device, torch.Size, range,
    slice, threading.Thread, types.FrameType,
)  # fmt: skip
#: The most common of them, which are not even looked at: a vocabulary has hundreds of thousands.
_PLAIN = frozenset((str, bytes, int, float, complex, bool, type(None)))
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
_CANNOT_START_AGAIN = (types.GeneratorType, types.AsyncGeneratorType, dataloader._BaseDataLoaderIter)
#: Code of a class that is wrapped into something else.
_WRAPPERS, _CODE = (property, staticmethod, classmethod), ("fget", "fset", "__func__")
#: Longest message of an error that is shown. By judgement: a note stays one line.
_LONGEST_REASON = 120


class Snapshot:
    """The current state of everything that can be reached from the roots.

    `restore()` may be called many times, and puts copies in the place of iterators; `give_back()` puts the user's own
    there, which nobody has read from if the first run began with `restore()` as well.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self._undo: list[tuple[Path, Undo]] = []
        self._seen: dict[int, Any] = {}  # keeps everything alive, so that no id is used twice
        self._one_way: list[tuple[Path, Any]] = []
        self._unread: Copies = {}
        self._iterators: list[Any] = []
        self._lent: dict[int, Any] = {}
        todo: deque[tuple[Path, Any]] = deque((root(each), each) for each in roots)
        while todo:
            path, thing = todo.popleft()
            if isinstance(thing, _LEAVES) or id(thing) in self._seen:
                continue
            self._seen[id(thing)] = thing
            todo.extend(self._remember(thing, path))

    @property
    def one_way(self) -> list[str]:
        """What cannot start again: its name, and what it is. A generator can, as long as nobody has begun it."""
        return [f"`{path}` is {named(thing)}" for path, thing in self._one_way if not is_unread(thing)]

    @property
    def lends(self) -> bool:
        """Whether even the first run needs copies of iterators."""
        return bool(self._iterators)

    def restore(self) -> list[str]:
        """What could not be put back, by name and with the reason. Everything else is as it was."""
        copies: Copies = {}
        self._lent = {id(each): copied(self._unread[id(each)][1], copies) for each in self._iterators}
        return self._undo_all()

    def give_back(self) -> list[str]:
        """The same, with the user's own iterators."""
        self._lent = {}
        return self._undo_all()

    def _now(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """What is held under these names for the time being."""
        return {name: self._lent.get(id(value), value) for name, value in values.items()} if self._lent else values

    def _undo_all(self) -> list[str]:
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
        if isinstance(thing, (list, deque, bytearray, array)):
            return self._list(thing, path)
        if isinstance(thing, set):
            members = set(thing)
            self._undo.append((path, lambda: refill_set(thing, members)))
            return [*self._fixed(members, path), *self._attributes(thing, path)]
        if moves(thing):
            return self._iterator(thing, path)
        if isinstance(thing, (tuple, frozenset)):
            return self._fixed(thing, path)
        if isinstance(thing, types.FunctionType):
            return self._function(thing, path)
        if isinstance(thing, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)):
            return _method(thing, path)
        if isinstance(thing, type):
            return self._class(thing) if written_by_user(thing) else ()
        return self._object(thing, path)

    def _list(self, thing: Any, path: Path) -> Held:
        items = dict(enumerate(thing))
        self._undo.append((path, lambda: refill(thing, list(self._now(items).values()))))
        plain = isinstance(thing, (bytearray, array))
        return [*([] if plain else _items(items.values(), path)), *self._attributes(thing, path)]

    def _fixed(self, items: Iterable[Any], path: Path) -> list[tuple[Path, Any]]:
        """Items that nothing can be exchanged for: an iterator among them will have been read."""
        held = _items(items, path)
        self._one_way += [each for each in held if moves(each[1])]
        return [each for each in held if not moves(each[1])]

    def _iterator(self, thing: Any, path: Path) -> Held:
        if copied(thing, self._unread) is None:
            self._one_way.append((path, thing))
            return ()
        self._iterators.append(thing)
        return [(path, each) for each in inside(thing) if not moves(each)]

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
        self._undo.append((path, lambda: refill_dict(mapping, self._now(items))))
        step = path.attribute if attributes else path.item
        held = [(step(key), value) for key, value in items.items() if type(value) not in _PLAIN]
        held += [(step(key), key) for key in items if type(key) not in _PLAIN]
        if isinstance(mapping, defaultdict):
            held += self._attribute(mapping, "default_factory", path)
        return held if type(mapping) in (dict, OrderedDict) else [*held, *self._attributes(mapping, path)]

    def _attributes(self, thing: Any, path: Path) -> Held:
        """What an object keeps in its `__dict__`, also one that is a function or a kind of list."""
        names = getattr(thing, "__dict__", None)
        if not isinstance(names, dict) or id(names) in self._seen:
            return ()
        self._seen[id(names)] = names
        return self._dict(names, path, attributes=True)

    def _attribute(self, thing: Any, name: str, path: Path) -> list[tuple[Path, Any]]:
        value, there = getattr(thing, name), path.attribute(name)
        self._undo.append((there, lambda: set_slot(thing, name, self._now({name: value})[name])))
        return [(there, value)]

    def _function(self, function: types.FunctionType, path: Path) -> Held:
        here = root(function)
        held = [*self._attribute(function, "__defaults__", here), *_items(function.__defaults__ or (), here)]
        held.append((here, function.__kwdefaults__))
        held += self._attributes(function, here)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            held.extend(self._cell(cell, here.attribute(name)))
        if written_by_user(function):
            held += self._globals(function, here)
        wrapped = getattr(function, "__wrapped__", None)
        return held if wrapped is None else [*held, (path, wrapped)]

    def _globals(self, function: types.FunctionType, here: Path) -> Held:
        there = function.__globals__
        values = {name: there[name] for name in names_used(function.__code__) if name in there}
        unbound = [name for name in names_bound(function.__code__) if name not in there]
        self._undo.append((here, lambda: rebind(there, self._now(values), unbound)))
        module = Path(None, "root", (function.__module__ or "").rpartition(".")[2])
        return [(module.attribute(name), value) for name, value in values.items()]

    def _class(self, kind: type) -> Held:
        here, values = root(kind), class_state(kind)
        self._undo.append((here, lambda: rebind_class(kind, class_state(kind), self._now(values))))
        held = [(here.attribute(name), value) for name, value in values.items()]
        return [*held, *((here, base) for base in kind.__bases__)]

    def _partial(self, thing: functools.partial[Any], path: Path) -> Held:
        function, arguments, keywords = thing.func, dict(enumerate(thing.args)), dict(thing.keywords)

        def undo() -> None:
            now = self._now({"function": function})["function"], tuple(self._now(arguments).values())
            thing.__setstate__((*now, self._now(keywords), thing.__dict__))  # type: ignore[attr-defined]

        self._undo.append((path, undo))
        held = [(path, function), *_items(arguments.values(), path)]
        return [*held, *((path.attribute(name), value) for name, value in keywords.items())]

    def _cell(self, cell: types.CellType, path: Path) -> Held:
        try:
            content = cell.cell_contents
        except ValueError:  # a name that is not bound yet
            self._undo.append((path, lambda: _unbind(cell)))
            return ()

        def undo() -> None:
            cell.cell_contents = self._lent.get(id(content), content)

        self._undo.append((path, undo))
        return ((path, content),)

    def _data(self, part: Any, path: Path) -> Held:
        self._undo.append((path, undo_of(part, self._now)))
        return [(path.attribute(name), value) for name, value in held_by(part)]

    def _object(self, thing: Any, path: Path) -> Held:
        if isinstance(thing, DataPart):
            if moves(thing.thing) or id(thing.thing) in self._seen:
                return ()
            self._seen[id(thing.thing)] = thing.thing
            return self._data(thing.thing, root(thing.thing))
        if isinstance(thing, KINDS):
            return self._data(thing, path)
        undo = _own_undo(thing)
        if undo is not None:
            self._undo.append((path, undo))
            if isinstance(thing, dataloader._BaseDataLoaderIter):
                return [(path, thing._index_sampler), (path, thing._dataset)]
            return self._attributes(thing, path) if hasattr(thing, "__wrapped__") else ()
        if isinstance(thing, types.GeneratorType) and inspect.getgeneratorstate(thing) == inspect.GEN_CLOSED:
            return ()  # it has ended, and will have ended in every run
        if isinstance(thing, _CANNOT_START_AGAIN):
            self._one_way.append((path, thing))
            return ()
        if isinstance(thing, functools.partial):
            return [*self._partial(thing, path), *self._attributes(thing, path)]
        if type(thing).__module__.partition(".")[0] in _FOREIGN:
            return ()
        held = [*self._attributes(thing, path)]
        for slot in slots(type(thing)):
            if hasattr(thing, slot):
                held += self._attribute(thing, slot, path)
            elif isinstance(getattr(type(thing), slot, None), types.MemberDescriptorType):
                self._undo.append((path.attribute(slot), functools.partial(unset_slot, thing, slot)))
        code = [getattr(thing, name, None) for name in _CODE if isinstance(thing, _WRAPPERS)]
        return [*held, *((path, each) for each in (type(thing), *code))]


def _items(values: Iterable[Any], path: Path) -> list[tuple[Path, Any]]:
    return [(path.item(index), value) for index, value in enumerate(values) if type(value) not in _PLAIN]


def _method(method: Any, path: Path) -> Held:
    """A method leads to its object, and a function of a module nowhere."""
    owner = method.__self__
    if isinstance(owner, type) or type(owner).__module__.startswith("torch._C"):
        owner = None
    return [(path, owner), *([(path, method.__func__)] if isinstance(method, types.MethodType) else [])]


def _unbind(cell: types.CellType) -> None:
    with suppress(ValueError):  # it is not bound
        del cell.cell_contents


def _own_undo(thing: Any) -> Undo | None:
    """For objects that have a way of their own to be set back. None if it has none."""
    if isinstance(thing, ContextVar):
        return context_undo(thing)
    if isinstance(thing, functools._lru_cache_wrapper):
        return cache_undo(thing)
    if isinstance(thing, dataloader._BaseDataLoaderIter):
        return loader_iterator_undo(thing)
    return _random_state_undo(thing)


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
