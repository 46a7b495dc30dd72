"""Generators of random numbers that live anywhere in the process: in a module, a package, a cache.

A snapshot follows what the training refers to; a generator that lies in a module beside it is drawn from all the same,
and a run that is made once more would go on where the first has ended.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from .generator_states import GENERATORS, set_state, state_of

#: For the examination that is under way.
_UNDO: list[Callable[[], object]] = []


@contextmanager
def generators_noted() -> Iterator[None]:
    """`put_generators_back()` sets those that live now to where they are now; so does the end of the block."""
    _UNDO[:] = [_undo(each) for each in _living()]
    try:
        yield
    finally:
        put_generators_back()
        _UNDO.clear()


def put_generators_back() -> None:
    for undo in _UNDO:
        with suppress(Exception):  # one that refuses is as it is, and the others are put back
            undo()


def _living() -> list[Any]:
    """Not all kinds are known to the collector: those are found through whoever holds them."""
    found: dict[int, Any] = {}
    for each in gc.get_objects():
        kind = type(each)
        if kind is dict:
            for value in list(each.values()):
                if type(value) in GENERATORS:
                    found[id(value)] = value
        elif kind in GENERATORS:
            found[id(each)] = each
    return [each for each in found.values() if not _is_seeded_anyway(each)]


def _is_seeded_anyway(generator: Any) -> bool:
    """The generators behind `torch.randn`, `np.random.rand` and `random.random`: each run begins by seeding them."""
    shared = (torch.default_generator, getattr(np.random.mtrand, "_rand", None), getattr(random, "_inst", None))
    return isinstance(generator, random.SystemRandom) or any(generator is each for each in shared)


def _undo(generator: Any) -> Callable[[], object]:
    state = state_of(generator)
    return lambda: set_state(generator, state)
