"""One series is built entry by entry in bounded memory: when it gets too long, neighbours become their mean.

A curve of two thousand points shows every shape that a curve of a million shows, and what neighbours differ by is kept
beside their mean, so that what goes up and down is not smoothed away.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from math import isfinite, nan
from operator import sub

from ..records.history import LoggedPoint, Series, Unit

#: Points of a series, at most. By judgement: a chart as wide as a screen shows fewer, and a million entries are 1,000
#: to 2,000 points of 500 to 1,000 entries.
_MOST_POINTS = 2048
#: Places at which a run began anew that are remembered one by one. By judgement: nobody reads more.
_MOST_RESTARTS = 1000


class SeriesBuilder:
    def __init__(self, name: str) -> None:
        self.name = name
        #: Entries with a value of any kind, and how many of those came without a gap from the first row of the log on.
        self.present = 0
        self.unbroken = 0
        self._values, self._steps, self._epochs = array("d"), array("d"), array("d")
        self._swings, self._lines = array("d"), array("q")
        #: Entries to a point, and what is gathered for the next one.
        self._each = 1
        self._gathered = 0
        self._sum = self._swing_sum = 0.0
        self._begin = (0.0, nan, 0)
        self._latest = self._latest_step = self._latest_epoch = nan
        self._taken = 0
        #: Whether the step begins anew with each epoch.
        self._counts_within_epochs = False
        self._began_anew: list[tuple[int, LoggedPoint]] = []
        self._resumed: list[LoggedPoint] = []
        self._nonfinite = 0
        self._first_nonfinite: LoggedPoint | None = None
        self._ends_nonfinite: LoggedPoint | None = None

    def add(self, value: float, step: float, epoch: float, line: int, row: int) -> None:
        """`step` and `epoch` are NaN where they are not logged; `row` counts the entries of the log, from 0."""
        if self.unbroken == row:
            self.unbroken = row + 1
        self.present += 1
        if step < self._latest_step or (step != step and epoch < self._latest_epoch):
            self._went_back(LoggedPoint(value, step, epoch, line, self.present))
        self._latest_step, self._latest_epoch = step, epoch
        if not isfinite(value):
            self._nonfinite += 1
            if self._ends_nonfinite is None:
                self._ends_nonfinite = LoggedPoint(value, step, epoch, line, self.present)
            self._first_nonfinite = self._first_nonfinite or self._ends_nonfinite
            return
        self._ends_nonfinite = None
        if not self._gathered:
            self._begin = (step, epoch, line)
        self._gathered += 1
        self._sum += value
        swing = abs(value - self._latest)
        if swing == swing:
            self._swing_sum += swing
        self._latest = value
        if self._gathered == self._each:
            self._end_point()

    def take_all(
        self, values: list[float], steps: list[float], epochs: list[float], lines: list[int], row: int
    ) -> bool:
        """As `add` for each, many times as fast. False, and nothing taken, where `add` has something to look at.

        The caller sees to it that steps do not go back among these.
        """
        began_before = steps[0] < self._latest_step or (steps[0] != steps[0] and epochs[0] < self._latest_epoch)
        if began_before or self._ends_nonfinite is not None or not all(map(isfinite, values)):
            return False
        if self.unbroken == row:
            self.unbroken = row + len(values)
        self.present += len(values)
        swings = [abs(values[0] - self._latest), *map(abs, map(sub, values[1:], values))]
        if swings[0] != swings[0]:
            swings[0] = 0.0
        at = 0
        while at < len(values):
            if not self._gathered:
                self._begin = (steps[at], epochs[at], lines[at])
            end = min(at + self._each - self._gathered, len(values))
            self._sum += sum(values[at:end])
            self._swing_sum += sum(swings[at:end])
            self._gathered += end - at
            at = end
            if self._gathered == self._each:
                self._end_point()
        self._latest, self._latest_step, self._latest_epoch = values[-1], steps[-1], epochs[-1]
        return True

    def _end_point(self) -> None:
        if not self._gathered:
            return
        step, epoch, line = self._begin
        self._values.append(self._sum / self._gathered)
        self._swings.append(self._swing_sum / self._gathered)
        self._steps.append(step)
        self._epochs.append(epoch)
        self._lines.append(line)
        self._taken += self._gathered
        self._gathered, self._sum, self._swing_sum = 0, 0.0, 0.0
        if len(self._values) >= _MOST_POINTS:
            self._halve()

    def _halve(self) -> None:
        for means in (self._values, self._swings):
            means[:] = array("d", [(a + b) / 2 for a, b in zip(means[::2], means[1::2], strict=True)])
        for firsts in (self._steps, self._epochs):
            firsts[:] = firsts[::2]
        self._lines = self._lines[::2]
        self._each *= 2

    def _went_back(self, point: LoggedPoint) -> None:
        """A step that is lower than the one before: it counts within epochs, a new run begins, or one is resumed."""
        if self._counts_within_epochs or point.epoch > self._latest_epoch:
            self._counts_within_epochs = True
            return
        self._end_point()
        counted = self._steps if point.step == point.step else self._epochs
        here = point.step if point.step == point.step else point.epoch
        if not counted or here <= counted[0]:
            if len(self._began_anew) < _MOST_RESTARTS:
                self._began_anew.append((self._taken, point))
            self._ends_nonfinite = None
            return
        kept = sum(1 for each in counted if each < here)
        for column in (self._values, self._swings, self._steps, self._epochs):
            del column[kept:]
        del self._lines[kept:]
        self._taken = kept * self._each
        self._ends_nonfinite = None  # what was resumed from lies before it
        if len(self._resumed) < _MOST_RESTARTS:
            self._resumed.append(point)

    def series(self, usual_unit: Unit = "entry", empty_from: LoggedPoint | None = None) -> Series:
        """`usual_unit`: what entries without a step or an epoch are counted in."""
        self._end_point()
        first = self._first_that_counts()
        unit = self._unit(first)
        if unit == "entry":
            unit, last = usual_unit, 1 + (len(self._values) - first) * self._each
            steps = array("d", map(float, range(1, last, self._each)))
        else:
            steps = (self._steps if unit == "step" else self._epochs)[first:]
        return Series(
            self.name,
            self._values[first:],
            steps,
            self._epochs[first:],
            self._lines[first:],
            self._swings[first:],
            unit=unit,
            entries_each=self._each,
            nonfinite=self._nonfinite,
            first_nonfinite=self._first_nonfinite,
            ends_nonfinite=self._ends_nonfinite,
            empty_from=empty_from,
            resumed=tuple(self._resumed),
            began_anew=() if self._counts_within_epochs else tuple(point for _, point in self._began_anew),
        )

    def _unit(self, first: int) -> Unit:
        if not self._values:
            return self._unit_of(self._first_nonfinite)
        steps_known = bool(self._steps) and all(step == step for step in self._steps)
        if steps_known and not self._counts_within_epochs and not self._equal_stretches():
            return "step"
        epochs = self._epochs[first:]
        once_each = bool(epochs) and all(a < b for a, b in pairwise(epochs))
        return "epoch" if once_each and epochs[0] == epochs[0] else "entry"

    @staticmethod
    def _unit_of(point: LoggedPoint | None) -> Unit:
        """Of a series without any finite value, by the first that is not."""
        if point is None or (point.step != point.step and point.epoch != point.epoch):
            return "entry"
        return "step" if point.step == point.step else "epoch"

    def _equal_stretches(self) -> bool:
        """Steps that begin anew after every so many entries count batches of an epoch, though no epoch is logged."""
        starts = [0, *(taken for taken, _ in self._began_anew)]
        lengths = [b - a for a, b in pairwise(starts)]
        return len(lengths) > 1 and max(lengths) - min(lengths) <= 1

    def _first_that_counts(self) -> int:
        """Where the last of several runs in one log begins."""
        if not self._began_anew or self._counts_within_epochs or self._equal_stretches():
            return 0
        return min(self._began_anew[-1][0] // self._each, max(len(self._values) - 1, 0))
