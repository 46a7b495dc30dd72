"""Slower, not slower, or too noisy to tell: decided on paired ratios alone.

The rule, with a tolerance of 10 %: *slower* when the median ratio is above 1.10 and the whole 99 % confidence interval
above 1.05, half of the tolerance; *too wide* when the interval spans more than twice the tolerance (or leaves a
median above 1.10 open); *not slower* otherwise.

How often each rule would say *slower*, of 40 made-up comparisons of 30 to 100 pairs, with every fifth round interrupted
and with tails that have no variance (the noise of `tests/against/test_deciding.py`):

    truly slower by       0 %       3 %       9 %       20 %
    interval above 1.00   0 and 0   0 and 0   9 and 8   40 and 40
    interval above 1.05   0 and 0   0 and 0   3 and 6   39 and 40   <- this one
    interval above 1.10   0 and 0   0 and 0   0 and 0   36 and 39
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Outcome = Literal["slower", "not slower", "too wide"]

CONFIDENCE = 0.99
_RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """How many times slower: the median of the ratios, with its confidence interval."""

    ratio: float
    low: float
    high: float
    count: int

    @property
    def width(self) -> float:
        return self.high - self.low


def interval(ratios: Sequence[float]) -> Interval:
    """By bootstrap: no distribution is assumed, for that of a busy machine has heavy tails and several humps."""
    logs = [math.log(ratio) for ratio in ratios]
    own = random.Random(len(logs))  # the same figures give the same interval
    medians = sorted(median(own.choices(logs, k=len(logs))) for _ in range(_RESAMPLES))
    tail = int(_RESAMPLES * (1 - CONFIDENCE) / 2)
    return Interval(
        math.exp(median(logs)), math.exp(medians[tail]), math.exp(medians[_RESAMPLES - 1 - tail]), len(logs)
    )


def decide(found: Interval, tolerance: float) -> Outcome:
    if found.width > 2 * tolerance * found.ratio:
        return "too wide"
    if found.ratio <= 1 + tolerance:
        return "not slower"
    return "slower" if found.low > 1 + tolerance / 2 else "too wide"


def settled(found: Interval, tolerance: float) -> bool:
    """More pairs would not change the outcome: the whole interval lies on one side of the tolerance."""
    return decide(found, tolerance) != "too wide" and (found.low > 1 + tolerance or found.high < 1 + tolerance)
