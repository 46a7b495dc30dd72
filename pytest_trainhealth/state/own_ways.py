"""Objects that have a way of their own to be set back, or at least to tell that they cannot be."""

from __future__ import annotations

import io
import mmap
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

from torch.utils.data import dataloader

from .caches import cache_undo, is_cache
from .iterators import loader_iterator_undo
from .random_states import SOURCES, random_state_undo
from .raw_memory import C_DATA, c_data_undo, mapped_undo
from .streams import stream_undo
from .values import Undo, context_undo

#: Nothing else about them is looked at, whether they can be set back or not.
CLOSED_BOXES = (*SOURCES, *C_DATA, io.IOBase, mmap.mmap, ContextVar, SimpleQueue)


def own_undo(thing: Any) -> Undo | None:
    if isinstance(thing, SOURCES):
        return random_state_undo(thing)
    if isinstance(thing, ContextVar):
        return context_undo(thing)
    if is_cache(thing):
        return cache_undo(thing)
    if isinstance(thing, dataloader._BaseDataLoaderIter):
        return loader_iterator_undo(thing)
    if isinstance(thing, io.IOBase):
        return stream_undo(thing)
    if isinstance(thing, mmap.mmap):
        return mapped_undo(thing)
    if isinstance(thing, C_DATA):
        return c_data_undo(thing)
    if isinstance(thing, SimpleQueue):
        return _queue_undo(thing)
    return _database_undo(thing)


def _queue_undo(waiting: SimpleQueue[Any]) -> Undo:
    """What is put there is for others; what was taken out is gone."""
    before = waiting.qsize()

    def undo() -> None:
        if waiting.qsize() < before:
            raise RuntimeError("a queue that has been read from")

    return undo


def _database_undo(thing: Any) -> Undo | None:
    """By its name, so that nobody has to load `sqlite3`."""
    if not any(kind.__name__ == "Connection" and kind.__module__ == "sqlite3" for kind in type(thing).__mro__):
        return None
    before = thing.total_changes

    def undo() -> None:
        if thing.total_changes != before:
            raise RuntimeError("rows have been written to the database")

    return undo
