"""Entries and columns that are in memory already: from JSON, from a dict, from a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from .column_names import role_of
from .log import Log, number_of

#: A value with the line it stands in.
Cell = tuple[Any, int]


def entry_into(log: Log, entry: Mapping[str, Any], line: int = 0) -> None:
    """One level of nesting is a prefix: {'train': {'loss': 1}} is 'train/loss'."""
    flat: dict[str, Any] = {}
    for name, value in entry.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}/{inner}": each for inner, each in value.items()}
        else:
            flat[str(name)] = value
    log.entry(flat, line)


def columns_into(log: Log, columns: Mapping[str, Sequence[Cell]]) -> None:
    """A list for each name. Where no list counts steps or epochs, each entry is an epoch, from 1, as Keras has it.

    Lists may have different lengths: with validation every second epoch there are half as many.
    """
    numeric = {n: column for n, column in columns.items() if any(number_of(value) is not None for value, _ in column)}
    counts = {n: column for n, column in numeric.items() if role_of(n) in ("step", "epoch", "clock")}
    values = {n: column for n, column in numeric.items() if n not in counts}
    longest = max(map(len, values.values()), default=0)
    if not counts:
        log.unit = "epoch"
    for name, column in values.items():
        builder = log.builder(name)
        if builder is None:
            continue
        index = {role_of(n): c for n, c in counts.items() if len(c) == len(column)}
        for row, (value, line) in enumerate(column):
            number = number_of(value)
            if number is None:
                continue
            epoch = -(-(row + 1) * longest // len(column)) if not counts else nan
            step = _counted(index.get("step"), row)
            builder.add(number, step, _counted(index.get("epoch"), row) if counts else float(epoch), line, row)
    log.rows = log.filled_rows = longest


def _counted(column: Sequence[Cell] | None, row: int) -> float:
    number = None if column is None else number_of(column[row][0])
    return nan if number is None else number
