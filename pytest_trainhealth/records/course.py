"""The course of a loss, in as many values as a reader can use: a verdict stays small however long its run was."""

from __future__ import annotations

from collections.abc import Sequence

#: Values that a verdict keeps. By judgement: as many as a narrow plot has columns; 0.6 kB in the JSON.
KEPT = 60


def thinned(values: Sequence[float], most: int = KEPT) -> tuple[float, ...]:
    """At most so many of them, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return tuple(values)
    return tuple(values[round(number * (len(values) - 1) / (most - 1))] for number in range(most))
