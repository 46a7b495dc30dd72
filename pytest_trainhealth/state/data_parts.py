"""The own state of loaders, samplers and data sets, and of what they call: counters, orders, random generators.

Not their samples, which may be too many to remember, and are remembered batch by batch when they are used. So an object
that belongs to the data is not followed to its end: what its names are bound to is remembered, what is in its
containers, and what is small or cannot be data.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from . import code_state
from .iterators import moves
from .notes import PLAIN, Held, Notes
from .own_ways import CLOSED_BOXES
from .paths import Path
from .user_code import class_state, names_bound, names_used, special_methods, written_by_user
from .values import Undo, rebind, rebind_class, refill, refill_dict, refill_set, set_slot, slots, unset_slot

#: Objects that hold data. A loader of the user's own class is marked as one by `DataPart`.
KINDS = (DataLoader, Dataset, Sampler)
_GENERATORS = (types.GeneratorType, types.AsyncGeneratorType)
#: Bytes, 1 MB: an array up to this size may be an order of samples that is shuffled in place, and is remembered. By
#: judgement: the order of 100,000 samples fits, and no data set of any size does.
_ORDER = 2**20
#: Items: a container up to this size may hold transforms or sources, a larger one holds samples. By judgement: nobody
#: writes down 64 transforms.
_FEW = 64
#: Parts that are looked at, the nearest first. By judgement: who has more objects that lead to each other has samples.
_MOST_PARTS = 1000
#: The workers of a loader, which the feed starts and ends.
_NOT_STATE = ("_iterator",)


class DataPart:
    """Marks an object as data, whatever its class."""

    def __init__(self, thing: Any, path: Path | None = None) -> None:
        self.thing, self.path = thing, path


def remember(notes: Notes, part: Any, path: Path) -> Held:
    if notes.count_part() > _MOST_PARTS:
        return ()
    if isinstance(part, types.FunctionType):
        return _function(notes, part, path)
    if isinstance(part, types.MethodType):
        return [*_follow("", part.__self__, path), *_follow("", part.__func__, path)]
    if isinstance(part, functools.partial):
        code_state.partial(notes, part, path)
        return _values(notes, {"func": part.func, **dict(enumerate(part.args)), **part.keywords}, path)
    if isinstance(part, type):
        values = class_state(part)
        notes.note(path, lambda: rebind_class(part, class_state(part), notes.now(values)))
        bases = [each for base in part.__bases__ for each in _follow("", base, path)]
        return [*_values(notes, {**values, **special_methods(part)}, path), *bases]
    return _object(notes, part, path)


def _object(notes: Notes, part: Any, path: Path) -> Held:
    names = getattr(part, "__dict__", {})
    before = {name: value for name, value in names.items() if name not in _NOT_STATE}

    def undo() -> None:
        for name in [name for name in names if name not in before and name not in _NOT_STATE]:
            del names[name]
        names.update(notes.now(before))

    notes.note(path, undo)
    return [*_values(notes, {**before, **_slots(notes, part, path)}, path), *_follow("", type(part), path)]


def _slots(notes: Notes, part: Any, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in slots(type(part)):
        if hasattr(part, name):
            found[name] = getattr(part, name)
            notes.note(path, functools.partial(_set, notes, part, name, found[name]))
        elif isinstance(getattr(type(part), name, None), types.MemberDescriptorType):
            notes.note(path, functools.partial(unset_slot, part, name))
    return found


def _set(notes: Notes, part: Any, name: str, value: Any) -> None:
    set_slot(part, name, notes.now_of(value))


def _function(notes: Notes, part: types.FunctionType, path: Path) -> Held:
    if not written_by_user(part):
        return ()
    values: dict[str, Any] = {}
    for name, cell in zip(part.__code__.co_freevars, part.__closure__ or (), strict=True):
        values.update((name, content) for _, content in code_state.cell(notes, cell, path.attribute(name)))
    there, code = part.__globals__, part.__code__
    named = {name: there[name] for name in names_used(code) if name in there}
    unbound = [name for name in names_bound(code) if name not in there]
    notes.note(path, lambda: rebind(there, notes.now(named), unbound))
    notes.attribute(part, "__defaults__", path)
    defaults = {str(index): value for index, value in enumerate(part.__defaults__ or ())}
    return _values(notes, {**named, **defaults, **(part.__kwdefaults__ or {}), **values, **vars(part)}, path)


def _values(notes: Notes, values: Mapping[Any, Any], path: Path) -> Held:
    """What is in containers is put back, but not looked into if there is much of it."""
    held: list[tuple[Path, Any]] = []
    for name, value in values.items():
        if type(value) not in PLAIN:
            undo = _content_undo(value)
            if undo is not None and notes.meet_content(value):
                notes.note(path.attribute(name), undo)
            held += _follow(name, value, path)
    return held


def _follow(name: Any, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """What is remembered as well."""
    there = path.attribute(name) if name != "" else path
    if _is_state(value):
        yield there, value
    elif _is_part(value):
        yield there, DataPart(value, there)
    elif isinstance(value, (list, tuple, deque, dict, set, frozenset)):
        items: Iterable[Any] = value.values() if isinstance(value, dict) else value
        few = len(value) <= _FEW
        if few or any(_can_be_state(kind) for kind in set(map(type, items))):
            for index, each in enumerate(items):
                if _is_state(each):
                    yield there.item(index), each
                elif few and _is_part(each):
                    yield there.item(index), DataPart(each, there.item(index))


def _is_state(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.is_meta and value.numel() * value.element_size() <= _ORDER
    if isinstance(value, np.ndarray):
        return value.nbytes <= _ORDER
    return _can_be_state(type(value)) or moves(value)


def _can_be_state(kind: type) -> bool:
    """Samples are of no such kind."""
    return issubclass(kind, (*KINDS, *CLOSED_BOXES, *_GENERATORS))


def _is_part(value: Any) -> bool:
    """Code and objects of the user's own, which the data call."""
    if isinstance(value, (types.MethodType, functools.partial)):
        return True
    return written_by_user(value if isinstance(value, (types.FunctionType, type)) else type(value))


def _content_undo(value: Any) -> Undo | None:
    if isinstance(value, (list, deque, bytearray)):
        items = list(value)
        return lambda: refill(value, items)
    if isinstance(value, set):
        members = set(value)
        return lambda: refill_set(value, members)
    if isinstance(value, dict):
        pairs = dict(value)
        return lambda: refill_dict(value, pairs)
    return None
