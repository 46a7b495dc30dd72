"""The loss of a run in one line of ASCII: first value, its course, last value. Any log can show it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..wording import loss

#: From low to high, as the characters stand in their line.
_LEVELS = "_.-*^"
#: A loss that is not finite has no height.
_NOT_FINITE = "!"
#: Columns. By judgement: with a check's name, its outcome and both values a line stays below 100.
_WIDTH = 32


def sparkline(losses: Sequence[float]) -> str:
    """'2.303 ^^**--..____ 0.021'; empty for fewer than two values, which have no course."""
    if len(losses) < 2:
        return ""
    shown = thinned(losses)
    finite = [value for value in shown if math.isfinite(value)]
    lowest, highest = (min(finite), max(finite)) if finite else (0.0, 0.0)
    drawn = "".join(_drawn(value, lowest, highest) for value in shown)
    return f"{loss(losses[0])} {drawn} {loss(losses[-1])}"


def thinned(values: Sequence[float]) -> Sequence[float]:
    """At most a column each, evenly spread, the first and the last among them."""
    if len(values) <= _WIDTH:
        return values
    return [values[round(column * (len(values) - 1) / (_WIDTH - 1))] for column in range(_WIDTH)]


def _drawn(value: float, lowest: float, highest: float) -> str:
    if not math.isfinite(value):
        return _NOT_FINITE
    if highest == lowest:
        return _LEVELS[len(_LEVELS) // 2]
    return _LEVELS[min(int(len(_LEVELS) * (value - lowest) / (highest - lowest)), len(_LEVELS) - 1)]
