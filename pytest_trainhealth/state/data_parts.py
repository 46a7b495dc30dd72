"""The own state of loaders, samplers and data sets: counters, orders and random generators, but not their samples.

Samples may be too many to remember, and are remembered batch by batch when they are used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from .iterators import moves
from .paths import Path
from .random_states import SOURCES
from .values import Undo, refill, refill_dict, refill_set

#: Objects that hold data. A loader of the user's own class is marked as one by `DataPart`.
KINDS = (DataLoader, Dataset, Sampler)
#: Bytes, 1 MB: an array up to this size may be an order of samples that is shuffled in place, and is remembered. By
#: judgement: the order of 100,000 samples fits, and no data set of any size does.
_ORDER = 2**20
#: The workers of a loader, which the feed starts and ends.
_NOT_STATE = ("_iterator",)


class DataPart:
    """Marks an object as data, whatever its class."""

    def __init__(self, thing: Any, path: Path | None = None) -> None:
        self.thing, self.path = thing, path


def undo_of(part: Any, now: Callable[[dict[str, Any]], dict[str, Any]]) -> Undo:
    """Restores what the part's names are bound to, and its containers, without looking into their items.

    `now`: what the names are bound to for the time being, with copies of iterators.
    """
    names = getattr(part, "__dict__", {})
    before = {name: value for name, value in names.items() if name not in _NOT_STATE}
    contents = [each for value in before.values() if (each := _content_undo(value)) is not None]

    def undo() -> None:
        for name in [name for name in names if name not in before and name not in _NOT_STATE]:
            del names[name]
        names.update(now(before))
        for refilled in contents:
            refilled()

    return undo


def held(part: Any) -> Iterator[tuple[str, Any]]:
    """What is remembered as well: random generators, iterators, other parts, small arrays."""
    for name, value in getattr(part, "__dict__", {}).items():
        if isinstance(value, (*KINDS, *SOURCES)) or _small(value) or moves(value):
            yield name, value
        elif isinstance(value, (list, tuple)) and value and all(isinstance(each, KINDS) for each in value):
            for each in value:
                yield name, each


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


def _small(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.is_meta and value.numel() * value.element_size() <= _ORDER
    return isinstance(value, np.ndarray) and value.nbytes <= _ORDER
