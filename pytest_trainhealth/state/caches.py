"""Caches of functions (`functools.cache`, `lru_cache`), which a step fills.

A cache that was empty is emptied, and one without a limit gets its old entries back. One with a limit that was not
empty lets nobody take an entry out. It is left with what was added if that is numbers, words and such, which a step
cannot change and the function would return again; it is emptied if it held nothing else to begin with. Where both sides
are objects (a model that exists only once, a tensor of some graph), neither is right, and it is named.
"""

from __future__ import annotations

import functools
import gc
import types
from typing import Any

import torch

from .user_code import written_by_user
from .values import Undo, refill_dict

_PLAIN = (
    str, bytes, int, float, complex, bool, type(None), type, types.FunctionType, types.BuiltinFunctionType,
    torch.dtype, torch.device, torch.Size,
)  # fmt: skip


def is_cache(thing: Any) -> bool:
    """A library's own caches are no state of a training."""
    function = getattr(thing, "__wrapped__", None)
    own = isinstance(thing, functools._lru_cache_wrapper)
    return own and (not isinstance(function, types.FunctionType) or written_by_user(function))


def results(cached: Any) -> list[Any]:
    """What is in the cache. Python has no way to ask for it but that of the garbage collector."""
    if cached.cache_parameters()["maxsize"] is None:
        return list(_entries(cached).values())
    machinery = {id(each) for each in gc.get_referents(functools.lru_cache(_nothing))}
    machinery |= {id(cached.__wrapped__), id(cached.__dict__), id(_entries(cached)), *map(id, _entries(cached))}
    return [each for each in gc.get_referents(cached) if id(each) not in machinery]


def cache_undo(cached: Any) -> Undo:
    before = cached.cache_info()
    if not before.currsize:
        return lambda: cached.cache_clear() if any(cached.cache_info()[:2]) else None
    if before.maxsize is None:
        entries = dict(_entries(cached))
        return lambda: refill_dict(_entries(cached), entries)
    known = results(cached)

    def undo() -> None:
        now, old = results(cached), {id(each) for each in known}
        added, kept = [each for each in now if id(each) not in old], {id(each) for each in now}
        if all(map(_is_plain, (*added, *(each for each in known if id(each) not in kept)))):
            return
        if not all(map(_is_plain, known)):
            raise RuntimeError("a cache with a limit that was not empty: nothing can be taken out of it again")
        cached.cache_clear()

    return undo


def _entries(cached: Any) -> dict[Any, Any]:
    found = [each for each in gc.get_referents(cached) if type(each) is dict and each is not cached.__dict__]
    if cached.cache_parameters()["maxsize"] is not None:  # a result may be a dictionary, too
        found = [each for each in found if all(type(link).__name__ == "_lru_list_elem" for link in each.values())]
    return max(found, key=len, default={})


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _nothing() -> None:
    return None
