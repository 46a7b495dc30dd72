"""Curves as plain text: they go to terminals, JUnit files and notebooks alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..wording import loss

#: Columns and rows of a plot. By judgement: it fits a chart of 100 columns, and is taken in at a glance.
COLUMNS, ROWS = 56, 8
#: What marks the first curve, the second, and where both are.
_MARKS, _BOTH = ("o", "*"), "#"


def plot(curves: Mapping[str, Sequence[float]], last: int, *, columns: int = COLUMNS, rows: int = ROWS) -> list[str]:
    """Up to two curves over the same steps, with their scale and a legend. Empty where there is nothing to draw.

    `last`: the last of the steps.
    """
    drawn = {name: [value for value in values if math.isfinite(value)] for name, values in curves.items()}
    every = [value for values in drawn.values() for value in values]
    if not every:
        return []
    low, high = min(every), max(every)
    grid = [[" "] * columns for _ in range(rows)]
    for mark, values in zip(_MARKS, drawn.values(), strict=False):
        for column, value in enumerate(_stretched(values, columns)):
            row = rows - 1 if high == low else round((high - value) / (high - low) * (rows - 1))
            taken = grid[row][column]
            grid[row][column] = mark if taken in (" ", mark) else _BOTH
    labels = [loss(high), *[""] * (rows - 2), loss(low)]
    width = max(map(len, labels))
    lines = [f"{label:>{width}} |{''.join(row).rstrip()}" for label, row in zip(labels, grid, strict=True)]
    legend = [f"{mark} {name}" for mark, name in zip(_MARKS, drawn, strict=False)]
    legend += [f"{_BOTH} both"] if len(drawn) > 1 else []
    axis = f"{' ' * width} +{'-' * columns}"
    end = f"step {last}"
    return [*lines, axis, f"{' ' * width}  0{end:>{columns - 1}}", f"{' ' * width}  {'   '.join(legend)}"]


def _stretched(values: Sequence[float], columns: int) -> list[float]:
    """One value for each column: those between two points lie on the line from one to the other."""
    if len(values) <= 1:
        return [*values] * columns
    found = []
    for column in range(columns):
        place = column / (columns - 1) * (len(values) - 1)
        left = min(int(place), len(values) - 2)
        found.append(values[left] + (place - left) * (values[left + 1] - values[left]))
    return found
