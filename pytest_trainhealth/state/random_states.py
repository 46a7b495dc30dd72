"""Sources of random numbers that a training holds."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import torch

from .values import Undo

SOURCES = (
    torch.Generator, random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator,
    np.random.SeedSequence,
)  # fmt: skip


def random_state_undo(source: Any) -> Undo:
    """`source`: one of `SOURCES`."""
    if isinstance(source, torch.Generator):
        state = source.get_state()
        return lambda: _discard(source.set_state(state))
    if isinstance(source, random.Random):
        inner = source.getstate()
        return lambda: source.setstate(inner)
    if isinstance(source, np.random.RandomState):
        old = source.get_state()
        return lambda: source.set_state(old)
    if isinstance(source, np.random.SeedSequence):
        return _seeds_undo(source)
    bits = source.bit_generator if isinstance(source, np.random.Generator) else source
    numbers, seeds = copy.deepcopy(bits.state), _seeds_undo(getattr(bits, "seed_seq", None))

    def undo() -> None:
        bits.state = numbers
        seeds()

    return undo


def _seeds_undo(seeds: Any) -> Undo:
    """It counts the seeds that others were spawned with, and lets nobody set that count."""
    if not isinstance(seeds, np.random.SeedSequence):
        return lambda: None
    spawned, made = seeds.n_children_spawned, seeds.__reduce__()
    again: Any = getattr(seeds, "__setstate__", None)

    def undo() -> None:
        if seeds.n_children_spawned != spawned:
            if again is None or len(made) < 3:
                raise RuntimeError("seeds have been spawned from it")
            again(made[2])

    return undo


def _discard(_: Any) -> None:
    return None
