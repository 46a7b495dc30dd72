"""What a reader fills: entry by entry, whatever the format, until the history is complete."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from operator import le
from typing import Any

from ..records.history import History, LoggedPoint, Series, Unit
from .column_names import Role, of_part, role_of
from .series_builder import SeriesBuilder

#: Derived from a clock, where one is logged beside the steps.
SECONDS_PER_STEP = "seconds per step"
#: Series of one log. By judgement: whoever logs a histogram by its buckets has thousands, and none of them is a loss.
_MOST_SERIES = 5000
#: As JSON and other writers put what is not a number.
_WORDS = {"nan": nan, "inf": inf, "infinity": inf, "-inf": -inf, "-infinity": -inf, "+inf": inf, "+infinity": inf}


class Log:
    def __init__(self, source: str, form: str, *, has_lines: bool = False) -> None:
        self.source, self.form, self._has_lines = source, form, has_lines
        self.notes: list[str] = []
        self.builders: dict[str, SeriesBuilder] = {}
        #: Entries so far, and those with any value.
        self.rows = self.filled_rows = 0
        #: What entries are counted in where they have neither step nor epoch.
        self.unit: Unit = "entry"
        #: The log says that the run is over, not only interrupted.
        self.finished = False
        self._roles: dict[str, Role] = {}
        self._clock = self._clock_step = nan
        #: The first entry that has nothing in it but its step.
        self._first_bare: LoggedPoint | None = None

    def builder(self, name: str) -> SeriesBuilder | None:
        """None where a log has more series than anybody can have meant."""
        found = self.builders.get(name)
        if found is None and len(self.builders) < _MOST_SERIES:
            found = self.builders[name] = SeriesBuilder(name)
        return found

    def entry(self, values: Mapping[str, Any], line: int = 0) -> None:
        """One entry by its names; what is neither a number nor the word for one is passed over."""
        step = epoch = clock = nan
        part, numbers = "", []
        for name, value in values.items():
            role = self._roles.get(name) or self._roles.setdefault(name, role_of(name))
            if role == "part" and isinstance(value, str):
                part = value
                continue
            number = number_of(value)
            if number is None:
                continue
            if role == "step":
                step = number if step != step else step
            elif role == "epoch":
                epoch = number
            elif role == "clock":
                clock = number
            else:
                numbers.append((name, number))
        self.numbers([(of_part(n, part), v) for n, v in numbers] if part else numbers, step, epoch, clock, line)

    def numbers(self, numbers: list[tuple[str, float]], step: float, epoch: float, clock: float, line: int) -> None:
        row = self.rows
        self.rows += 1
        if not numbers:
            self._first_bare = self._first_bare or LoggedPoint(nan, step, epoch, line, row + 1)
            return
        self.filled_rows += 1
        for name, value in numbers:
            builder = self.builder(name)
            if builder is not None:
                builder.add(value, step, epoch, line, row)
        if clock == clock:
            self.clocked(clock, step, epoch, line)

    def columns(
        self,
        columns: list[tuple[str, list[float], list[int] | None]],
        steps: list[float],
        epochs: list[float],
        lines: list[int],
    ) -> None:
        """Several entries at once, of which each has a value at least: by name the values and their rows, or all."""
        first = self.rows
        self.rows += len(lines)
        self.filled_rows += len(lines)
        rising = all(map(le, steps, steps[1:])) if steps[0] == steps[0] else all(map(le, epochs, epochs[1:]))
        for name, values, rows in columns:
            builder = self.builder(name)
            if builder is None:
                continue
            if rows is None and rising and builder.take_all(values, steps, epochs, lines, first):
                continue
            for value, row in zip(values, range(len(lines)) if rows is None else rows, strict=True):
                builder.add(value, steps[row], epochs[row], lines[row], first + row)

    def clocked(self, clock: float, step: float, epoch: float, line: int) -> None:
        """What the time was at a step: two of them are the seconds that a step takes."""
        steps, seconds = step - self._clock_step, clock - self._clock
        if steps > 0 and seconds >= 0:
            derived = self.builder(SECONDS_PER_STEP)
            if derived is not None:
                derived.add(seconds / steps, step, epoch, line, -1)
        if steps != 0:
            self._clock, self._clock_step = clock, step

    def history(self) -> History:
        series = {name: self._series(builder) for name, builder in self.builders.items()}
        known = {name: each for name, each in series.items() if len(each) or each.nonfinite}
        notes = (*self.notes, *_restarts(known))
        return History(self.source, self.form, known, notes, has_lines=self._has_lines, finished=self.finished)

    def _series(self, builder: SeriesBuilder) -> Series:
        return builder.series(self.unit, self._empty_from(builder))

    def _empty_from(self, builder: SeriesBuilder) -> LoggedPoint | None:
        """Where a column without any gap before becomes empty for good, although the entries go on as they did.

        They do if another column that stood beside it from the first entry on stands there still, or if nothing is
        left but the step. A log in which training and validation have entries of their own has such an end, too: there
        the columns that go on were not beside it before.
        """
        end = builder.present
        if builder.name == SECONDS_PER_STEP or builder.unbroken != end or end >= self.rows:
            return None
        others = [each for each in self.builders.values() if each is not builder and each.name != SECONDS_PER_STEP]
        companion = next((each for each in others if each.unbroken > end), None)
        if companion is not None:
            series = companion.series(self.unit)
            index = min(end // series.entries_each, len(series) - 1)
            if index < 0:
                return None
            step = series.steps[index] if series.unit == "step" else nan
            return LoggedPoint(nan, step, series.epochs[index], series.lines[index], end + 1)
        return self._first_bare if self.filled_rows <= end else None


def _restarts(series: Mapping[str, Series]) -> list[str]:
    """Of the series that tells most, which is the longest."""
    notes = []
    anew = max((each for each in series.values() if each.began_anew), key=len, default=None)
    if anew is not None and anew.unit != "entry":
        last = anew.began_anew[-1]
        where = f"line {last.line}" if last.line else "the last beginning"
        notes.append(f"the log holds {len(anew.began_anew) + 1} runs: the last one is judged, from {where} on")
    resumed = max((each for each in series.values() if each.resumed), key=len, default=None)
    if resumed is not None:
        point = resumed.resumed[-1]
        line = f" (line {point.line})" if point.line else ""
        notes.append(f"the run was resumed at {resumed.at(point)}{line}: what it had logged beyond does not count")
    return notes


def number_of(value: Any) -> float | None:
    """A float, or None for what is no number: texts, truth values, lists, nothing."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return _as_float(value)
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    if hasattr(value, "__float__") and not getattr(value, "shape", ()):  # scalars of numpy and torch
        return _as_float(value)
    return None


def _as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:
        return inf
