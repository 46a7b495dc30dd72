"""The course of one logged quantity: where it began, how low it came, where it ended, and how much of that is noise.

Levels are medians over a tenth of the curve, and every limit is a share of what was gained or a multiple of the noise:
a log may hold a loss in any unit, above or below 0, of one batch or of a whole set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from statistics import fmean, median

from ..records.history import Series

#: Of the curve: what a level is a median of. By judgement: a tenth, as at the end of every curve in loss_curve.py.
_WINDOW = 0.1
#: Values, however short the curve. By judgement: of 3 one may be odd.
_FEWEST = 3
#: The median jump from one value to the next, where values are one level with noise: 0.954 times its deviation.
_JUMP_OF_NOISE = 0.954
#: The same of the jump between two jumps, which a trend does not change: 1.652 times.
_BEND_OF_NOISE = 1.652
#: The share of jumps that go back against the one before: 0.67 for noise, 0.5 for what wanders, as a running mean does,
#: nearly 0 for a trend.
_WANDERS = (0.25, 0.6)
#: Values, for that share to say something. Of 30 that are noise, one series in ten is below 0.6.
_ENOUGH_TO_WANDER = 30
#: How much further than its jumps tell it wanders: a running mean over 20 values strays 4.5 times as far, one over 100
#: ten times.
_WANDERS_BY = 10.0
#: A deviation in terms of the median distance from the middle, for normal noise: 1.483.
_OF_A_DEVIATION = 1.483


def _slope(values: Sequence[float]) -> float:
    """Of the straight line through some values, one step apart."""
    middle, level = (len(values) - 1) / 2, fmean(values)
    across = sum((at - middle) ** 2 for at in range(len(values)))
    return sum((at - middle) * (value - level) for at, value in enumerate(values)) / across if across else 0.0


class Curve:
    """A series that ought to fall. For one that ought to rise, `sign` is -1."""

    def __init__(self, series: Series, sign: int = 1) -> None:
        self.series = series
        self.values: Sequence[float] = series.values if sign > 0 else [-value for value in series.values]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def width(self) -> int:
        return max(_FEWEST, int(_WINDOW * len(self.values)))

    @cached_property
    def levels(self) -> list[tuple[int, float]]:
        """From left to right, half overlapping: the index at which a window begins, and its median."""
        width, count = self.width, len(self.values)
        last = max(count - width, 0)
        starts = [*range(0, last, max(1, width // 2)), last]
        return [(at, median(self.values[at : at + width])) for at in starts]

    @cached_property
    def start(self) -> float:
        """Of the first few values only: a loss that falls quickly is soon far from where it began."""
        return median(self.values[:_FEWEST])

    @cached_property
    def end(self) -> float:
        return self.levels[-1][1]

    @cached_property
    def best(self) -> float:
        return min(level for _, level in self.levels)

    @cached_property
    def best_at(self) -> int:
        """The lowest value of the lowest window."""
        at = min(self.levels, key=lambda each: each[1])[0]
        return min(range(at, min(at + self.width, len(self.values))), key=self.values.__getitem__)

    @cached_property
    def gain(self) -> float:
        return max(self.start - self.best, 0.0)

    @cached_property
    def fall(self) -> float:
        """From the highest of the first values: `gain` is what is sure, this is what may have been."""
        return max(max(self.values[:_FEWEST]) - self.best, 0.0)

    @cached_property
    def noise(self) -> float:
        """The deviation of a single entry from its level, and how far that wanders by itself."""
        return self.noise_between(0, len(self.values)) * (_WANDERS_BY if self.wanders else 1.0)

    @cached_property
    def wanders(self) -> bool:
        """Neighbours have most of their noise in common, as in a running mean."""
        return len(self.values) >= _ENOUGH_TO_WANDER and _WANDERS[0] < self.turns < _WANDERS[1]

    def noise_between(self, first: int, last: int) -> float:
        """By how the curve bends from one value to the next; by its jumps, where values are means of entries."""
        values = self.values[first:last]
        if self.series.entries_each > 1 or len(values) < _FEWEST:
            swings = self.series.swings[max(first, 1) : last]
            return median(swings) / _JUMP_OF_NOISE if swings else 0.0
        bends = [abs(c - 2 * b + a) for a, b, c in zip(values, values[1:], values[2:], strict=False)]
        return median(bends) / _BEND_OF_NOISE

    def swing_between(self, first: int, last: int) -> float:
        """How far values lie from the trend of their window, as a deviation: slow swings count as much as noise.

        The median over the windows of a part: a single spike is none.
        """
        width = min(self.width, max(last - first, 1))
        found = []
        for at in range(first, max(last - width, first) + 1, max(1, width // 2)):
            window = self.values[at : at + width]
            slope, middle = _slope(window), (len(window) - 1) / 2
            level = fmean(window)
            found.append(median(abs(v - level - slope * (i - middle)) for i, v in enumerate(window)))
        return _OF_A_DEVIATION * median(found) if found else 0.0

    @cached_property
    def spread(self) -> float:
        """From the lowest level to the highest."""
        levels = [level for _, level in self.levels]
        return max(*levels, self.start) - min(*levels, self.start)

    @property
    def given_back(self) -> float:
        """How far it ends above its best."""
        return self.end - self.best

    def first_above(self, limit: float, after: int) -> int:
        """Where it leaves a level for good: the first index from which on all windows lie above it."""
        above = len(self.values) - self.width
        for at, level in reversed(self.levels):
            if level <= limit or at < after:
                break
            above = at
        return max(above, after)

    def level_at(self, index: int) -> float:
        half = self.width // 2
        first = min(max(index - half, 0), max(len(self.values) - self.width, 0))
        return median(self.values[first : first + self.width])

    @cached_property
    def turns(self) -> float:
        """The share of jumps that go back against the one before: two thirds for noise, none for a trend.

        Jumps are taken without the trend around them, which would hide the noise on it.
        """
        jumps, half = [b - a for a, b in pairwise(self.values)], self.width // 2
        about = [jump - fmean(jumps[max(at - half, 0) : at + half + 1]) for at, jump in enumerate(jumps)]
        return sum(1 for a, b in pairwise(about) if a * b < 0) / max(len(about) - 1, 1)

    def index_at(self, step: float) -> int:
        """The first value that was logged at this step or later."""
        return next((index for index, each in enumerate(self.series.steps) if each >= step), len(self.values) - 1)
