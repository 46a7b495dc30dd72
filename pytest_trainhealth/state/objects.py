"""How an object of any class is remembered: by its own way if it has one, else by its attributes and slots."""

from __future__ import annotations

import functools
import gc
import inspect
import threading
import types
import weakref
from typing import Any

from torch import nn
from torch.utils.data import dataloader

from . import data_parts
from .caches import is_cache, results
from .data_parts import KINDS, DataPart
from .iterators import moves
from .notes import Held, Notes, items_of
from .own_ways import CLOSED_BOXES, own_undo
from .paths import Path, root
from .values import class_undo, slots, unset_slot

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
#: Windows on a dictionary.
_VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))


def remember(notes: Notes, thing: Any, path: Path) -> Held:
    """Notes how to restore it; returns what it holds."""
    if isinstance(thing, (DataPart, *KINDS)):
        return _data(notes, thing, path)
    package = type(thing).__module__.partition(".")[0]
    if package == "_pytest":
        return ()
    undo = own_undo(thing)
    if undo is not None:
        notes.note(path, undo)
        return _held_by_itself(notes, thing, path)
    if isinstance(thing, CLOSED_BOXES):
        return ()
    if isinstance(thing, types.GeneratorType) and inspect.getgeneratorstate(thing) == inspect.GEN_CLOSED:
        return ()  # it has ended, and will have ended in every run
    if isinstance(thing, _CANNOT_START_AGAIN):
        notes.one_way.append((path, thing))
        return _locals(thing, path)
    if isinstance(thing, threading.local):
        return notes.attributes(thing, path)  # those of this thread
    return () if package in _FOREIGN else _inside(notes, thing, path)


def _locals(generator: Any, path: Path) -> Held:
    """It cannot be rewound, but the objects that it has come to know can be restored."""
    frame = getattr(generator, "gi_frame", None)
    return [] if frame is None else [(path.attribute(name), value) for name, value in frame.f_locals.items()]


def _held_by_itself(notes: Notes, thing: Any, path: Path) -> Held:
    """What an object holds that sets itself back."""
    if isinstance(thing, dataloader._BaseDataLoaderIter):
        return [(path, thing._index_sampler), (path, thing._dataset)]
    if is_cache(thing):
        return [*items_of(results(thing), path), *notes.attributes(thing, path)]
    return ()


def _inside(notes: Notes, thing: Any, path: Path) -> Held:
    if isinstance(thing, _VIEWS):
        return [(path, each) for each in gc.get_referents(thing)]
    if isinstance(thing, weakref.ref):
        return [(path, thing())]
    if isinstance(thing, memoryview):
        return [(path, thing.obj)]
    if isinstance(thing, nn.Module):
        notes.note(path, class_undo(thing))
    held = notes.attributes(thing, path)
    for slot in slots(type(thing)):
        if hasattr(thing, slot):
            held += notes.attribute(thing, slot, path)
        elif isinstance(getattr(type(thing), slot, None), types.MemberDescriptorType):
            notes.note(path.attribute(slot), functools.partial(unset_slot, thing, slot))
    code = [getattr(thing, name, None) for name in _CODE if isinstance(thing, _WRAPPERS)]
    return [*held, *((path, each) for each in (type(thing), *code))]


def _data(notes: Notes, thing: Any, path: Path) -> Held:
    if isinstance(thing, DataPart):
        thing, path = thing.thing, thing.path or root(thing.thing)
        if moves(thing) or not notes.meet(thing):
            return ()
    return data_parts.remember(notes, thing, path)
