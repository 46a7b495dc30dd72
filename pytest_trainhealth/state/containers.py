"""How tensors, arrays and Python's own containers are remembered, and what they hold."""

from __future__ import annotations

from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn.parameter import is_lazy

from .iterators import moves
from .notes import Held, Notes, items_of
from .paths import Path
from .values import HOOKS, array_undo, lazy_undo, refill, refill_set, tensor_undo


def tensor(notes: Notes, thing: Tensor, path: Path) -> Held:
    if is_lazy(thing):
        notes.note(path, lazy_undo(thing))
        return ()
    if thing.is_meta or thing.is_inference():
        return ()
    notes.note(path, tensor_undo(thing))
    held = notes.attributes(thing, path)
    held += [(path.attribute(name), hooks) for name in HOOKS if (hooks := getattr(thing, name)) is not None]
    if thing.is_leaf and thing.grad is not None:
        held.append((path.attribute("grad"), thing.grad))
    return held


def numpy_array(notes: Notes, thing: np.ndarray[Any, Any], path: Path) -> Held:
    if thing.flags.writeable:
        notes.note(path, array_undo(thing))
    held = items_of(thing.ravel(), path) if thing.dtype.hasobject and not thing.dtype.names else []
    return held if type(thing) is np.ndarray else [*held, *notes.attributes(thing, path)]


def dictionary(notes: Notes, thing: dict[Any, Any], path: Path) -> Held:
    held = notes.pairs(thing, path)
    if isinstance(thing, defaultdict):
        held += notes.attribute(thing, "default_factory", path)
    return held if type(thing) in (dict, OrderedDict) else [*held, *notes.attributes(thing, path)]


def sequence(notes: Notes, thing: Any, path: Path) -> Held:
    items = dict(enumerate(thing))
    notes.note(path, lambda: refill(thing, list(notes.now(items).values())))
    plain = isinstance(thing, (bytearray, array))
    return [*([] if plain else items_of(items.values(), path)), *notes.attributes(thing, path)]


def members(notes: Notes, thing: set[Any], path: Path) -> Held:
    before = set(thing)
    notes.note(path, lambda: refill_set(thing, before))
    return [*fixed(notes, before, path), *notes.attributes(thing, path)]


def fixed(notes: Notes, items: Iterable[Any], path: Path) -> list[tuple[Path, Any]]:
    """Items that nothing can be exchanged for: an iterator among them will have been read."""
    held = items_of(items, path)
    notes.one_way += [each for each in held if moves(each[1])]
    return [each for each in held if not moves(each[1])]
