"""Two runs that have to be the same: where they part, and what was still the same before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .. import wording
from ..records.trace import Trace

#: 3 digits of a loss as everywhere (`wording.loss`); by judgement, one of 10,000 has enough before the point.
_ENOUGH = 3, 1e4
_GENERATORS = ("torch", "numpy", "Python")
What = Literal["start", "batch", "draws", "loss", "values", "length"]


@dataclass(frozen=True)
class Difference:
    """What differs first; everything that comes before it in a step is the same in both runs."""

    what: What
    step: int
    #: What was found in the first run and in the other, in a few words.
    words: str
    measured: float = 0.0


def first_difference(one: Trace, other: Trace) -> Difference | None:
    """Bit by bit: in the weights at the start, then by step in the batch, the loss and the random numbers drawn."""
    names = other.state.starts_differently
    if names:
        return Difference(
            "start", 0, f"{wording.names(names)} {wording.is_or_are(len(names))} other", float(len(names))
        )
    for step in range(min(one.steps, other.steps)):
        found = _in_step(one, other, step)
        if found is not None:
            return found
    if one.steps != other.steps:
        step = min(one.steps, other.steps)
        return Difference("length", step, f"{one.steps} and {other.steps} steps", float(abs(one.steps - other.steps)))
    differ = [name for name, value in one.state.end.items() if other.state.end.get(name, value) != value]
    if differ:
        return Difference("values", max(one.steps - 1, 0), wording.names(differ), float(len(differ)))
    return None


def _in_step(one: Trace, other: Trace, step: int) -> Difference | None:
    a, b = one.state, other.state
    known = step < min(len(a.batches), len(b.batches))
    if known and a.batches[step] != b.batches[step]:
        return Difference("batch", step, "the batch differs", 1.0)
    if one.losses[step] != other.losses[step]:
        first, second = one.losses[step], other.losses[step]
        return Difference("loss", step, f"loss {apart(first, second)}", abs(first - second))
    drawn = step < min(len(a.draws), len(b.draws))
    if drawn and a.draws[step] != b.draws[step]:
        kinds = [name for name, x, y in zip(_GENERATORS, a.draws[step], b.draws[step], strict=True) if x != y]
        return Difference("draws", step, f"random numbers of {' and '.join(kinds)}", 1.0)
    return None


def apart(first: float, second: float) -> str:
    """With as many digits as it takes to tell them apart."""
    for digits in range(3, 17):
        short = f"{first:.{digits}f}", f"{second:.{digits}f}"
        if short[0] != short[1] and digits >= _ENOUGH[0] and max(abs(first), abs(second)) < _ENOUGH[1]:
            return f"{short[0]} and {short[1]}"
    return f"{first!r} and {second!r}"
