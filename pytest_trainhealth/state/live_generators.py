"""Generators of random numbers that live anywhere in the process: in a module, a package, a cache.

A snapshot follows what the training refers to; a generator that lies in a module beside it is drawn from all the same,
and a run that is made once more would go on where the first has ended. Whether it would can be tried, too.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from ..tensors.fingerprint import fingerprint
from .generator_states import GENERATORS, set_state, state_of
from .user_code import module_of_user

#: For the examination that is under way: those that lived when it began, and where each stood.
_NOTED: list[tuple[Any, Any]] = []
#: What is done right before a training is built.
_BEFORE_BUILDING: list[Callable[[], object]] = []


@contextmanager
def generators_noted() -> Iterator[None]:
    """`put_generators_back()` sets those that live now to where they are now; so does the end of the block."""
    _NOTED[:] = [(each, state_of(each)) for each in _living()]
    try:
        yield
    finally:
        put_generators_back()
        _NOTED.clear()


def put_generators_back() -> None:
    _set_all(_NOTED)


def _set_all(states: list[tuple[Any, Any]]) -> None:
    for generator, state in states:
        with suppress(Exception):  # one that refuses is as it is, and the others are put back
            set_state(generator, state)


def drawn_from() -> dict[str, Any]:
    """Those that a module of the user's names, by that name, unless they stand where they stood.

    Where those stood that a module made which was imported since, nobody knows.
    """
    modules = [each for each in list(sys.modules.values()) if module_of_user(each)]
    named = {name: value for each in modules for name, value in list(vars(each).items()) if type(value) in GENERATORS}
    if not named:
        return {}
    stood = {id(each): fingerprint(_plain(state)) for each, state in _NOTED}
    return {name: each for name, each in named.items() if stood.get(id(each)) != fingerprint(_plain(state_of(each)))}


@contextmanager
def going_on() -> Iterator[None]:
    """What is built inside of the block finds those where they stand now, as the second training of a script does."""
    states = [(each, state_of(each)) for each in drawn_from().values()]
    _BEFORE_BUILDING.append(lambda: _set_all(states))
    try:
        yield
    finally:
        _BEFORE_BUILDING.pop()


def before_building() -> None:
    for each in _BEFORE_BUILDING:
        each()


def _plain(state: Any) -> Any:
    """numpy's is a dictionary of numbers and arrays, Python's and the old numpy's are tuples."""
    return state if isinstance(state, torch.Tensor) else repr(_listed(state))


def _listed(state: Any) -> Any:
    if isinstance(state, np.ndarray):
        return state.tolist()
    if isinstance(state, dict):
        return {key: _listed(each) for key, each in state.items()}
    return [_listed(each) for each in state] if isinstance(state, tuple) else state


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
