"""One source of what no seed decides answers the same in every run: the clock, the system, or Python's hash of text."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...state.live_generators import put_generators_back
from . import _entropy
from ._entropy import SEED, Replacement, called_by_user, exchange, is_salted, same_hash

EARLY, HOLDS = True, True
#: What the clock shows, and how far it goes on each time that somebody looks. By judgement: a day of 2023.
_DAY, _TICK = 1_700_000_000.0, 1e-3


class HeldEntropy(Listener):
    def __init__(self, run: Run, stack: ExitStack, source: str) -> None:
        put_generators_back()
        self._looks = 0
        self._stream = random.Random(SEED)
        make = {"clock": self._clock, "system": self._system, "hash": self._hash}[source]
        sources: Any = {"clock": _entropy.CLOCK, "system": _entropy.SYSTEM, "hash": _entropy.HASH}[source]
        for holder, name in sources:
            exchange(holder, name, stack, functools.partial(_held, make, name))

    def _clock(self, original: Replacement, name: str) -> Replacement:
        def clock() -> Any:
            if not called_by_user():
                return original()
            self._looks += 1
            seconds = _DAY + _TICK * self._looks
            return SEED if name == "getpid" else int(1e9 * seconds) if name.endswith("_ns") else seconds

        return clock

    def _system(self, original: Replacement, name: str) -> Replacement:
        if name in ("urandom", "_urandom"):
            return lambda size: self._stream.randbytes(size)

        def seeded(*given: Any, **named: Any) -> Any:
            itself = given[:1] if given and isinstance(given[0], random.Random) else ()
            seeds = [each for each in (*given[len(itself) :], *named.values()) if each is not None]
            if seeds:
                return original(*given, **named)
            self._looks += 1
            if original.__module__ == "torch.random":
                from torch import manual_seed

                return manual_seed(SEED + self._looks).initial_seed()
            return original(*itself, SEED + self._looks)

        return seeded

    def _hash(self, original: Replacement, name: str) -> Replacement:
        def hashed(value: Any) -> int:
            ours = called_by_user() and is_salted(value)
            return same_hash(value) if ours else original(value)

        return hashed


def _held(make: Callable[[Replacement, str], Replacement], name: str, original: Replacement) -> Replacement:
    """Marked rather than wrapped: who called is read off the frame above."""
    function = make(original, name)
    function.held_still = True  # type: ignore[attr-defined]
    return function
