"""The log of a finished run: what was written down of it, by name, with its steps and the lines it stands in.

A history is judged as a trace is, but nobody can run it again. Standard library only; a series is of bounded length
however long the log is (`histories/series_builder.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Literal

from .verdict import Place

#: What the numbers in `Series.steps` count: steps or epochs as they were logged, or entries where neither was.
Unit = Literal["step", "epoch", "entry"]


@dataclass(frozen=True)
class LoggedPoint:
    """One entry of a log: its value, and where it stands."""

    value: float
    step: float
    epoch: float
    #: From 1; 0 where the format has no lines.
    line: int
    #: The how-manieth of its series, from 1.
    entry: int = 0


@dataclass(frozen=True)
class Series:
    """One quantity over the run. Values that are not finite are counted and left out; all sequences have one length."""

    name: str
    values: Sequence[float]
    steps: Sequence[float]
    #: NaN where no epoch was logged.
    epochs: Sequence[float]
    lines: Sequence[int]
    #: How far one entry was from the one before, also where a value is the mean of several entries.
    swings: Sequence[float]
    unit: Unit = "step"
    #: How many entries a value is the mean of: 1, unless the log is very long.
    entries_each: int = 1
    #: Values that are NaN or infinite: how many, the first one, and the first of those at the end that are all like it.
    nonfinite: int = 0
    first_nonfinite: LoggedPoint | None = None
    ends_nonfinite: LoggedPoint | None = None
    #: From here on it is empty while others go on: it was no longer logged, or a NaN was written as nothing.
    empty_from: LoggedPoint | None = None
    #: Where the run went back to an earlier step, which then counts from there.
    resumed: Sequence[LoggedPoint] = ()
    #: Where the steps began anew: an earlier run in the same log, which does not count.
    began_anew: Sequence[LoggedPoint] = ()

    def __len__(self) -> int:
        return len(self.values)

    def when(self, index: int) -> str:
        """'epoch 12', 'step 1,200', 'step 1,200 (epoch 3)'."""
        return _moment(self.unit, self.steps[index], self.epochs[index])

    def at(self, point: LoggedPoint) -> str:
        return _moment(self.unit, self.counted(point), point.epoch)

    def counted(self, point: LoggedPoint) -> float:
        """Where a point stands, in the unit of `steps`."""
        return {"step": point.step, "epoch": point.epoch, "entry": float(point.entry)}[self.unit]


def _moment(unit: Unit, counted: float, epoch: float) -> str:
    known = unit == "step" and not isnan(epoch)
    return f"{unit} {counted:,.10g}" + (f" (epoch {epoch:,.3g})" if known else "")


@dataclass(frozen=True)
class History:
    """A finished run as it was logged. Made by `pytest_trainhealth.history(path)`."""

    #: The file, or what else it was read from.
    source: str
    #: Which reader has read it: 'csv', 'trainer_state', ...
    format: str
    series: Mapping[str, Series]
    #: What a reader has to say about the log itself: a last line that was cut off, an earlier run in the same file.
    notes: tuple[str, ...] = ()
    #: Whether `source` is a file, or a folder, and whether it has lines.
    is_file: bool = field(default=False, repr=False)
    #: The log says that the run took all the steps that it was to take.
    finished: bool = field(default=False, repr=False)
    has_lines: bool = field(default=False, repr=False)

    def __getitem__(self, name: str) -> Series:
        return self.series[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.series)

    def place(self, line: int) -> Place | None:
        return Place(self.source, line) if self.has_lines and line > 0 else None
