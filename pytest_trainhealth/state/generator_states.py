"""Where generators of random numbers stand, whatever kind they are."""

from __future__ import annotations

import copy
import hashlib
import random
from typing import Any

import numpy as np
import torch

GENERATORS = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)


def state_of(generator: Any) -> Any:
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if isinstance(generator, np.random.Generator):
        return copy.deepcopy(generator.bit_generator.state)
    return generator.get_state() if isinstance(generator, np.random.RandomState) else generator.getstate()


def set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


def shared_state() -> dict[str, Any]:
    """Of those behind `torch.rand`, `np.random.rand` and `random.random`."""
    return {"torch": torch.get_rng_state(), "numpy": list(np.random.get_state()), "python": random.getstate()}


def set_shared_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    np.random.set_state(tuple(state["numpy"]))
    random.setstate(state["python"])


def shared_prints() -> dict[str, str]:
    """By whose they are, in words; equal where the shared ones stand at the same place."""
    words = {"python": "Python"}
    return {words.get(name, name): hashlib.sha1(_bytes(state)).hexdigest() for name, state in shared_state().items()}


def _bytes(state: Any) -> bytes:
    if isinstance(state, torch.Tensor):
        return state.numpy().tobytes()
    # an array prints the first of its values only
    return b"".join(each.tobytes() if isinstance(each, np.ndarray) else repr(each).encode() for each in state)
