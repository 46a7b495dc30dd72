"""Two sides take turns: A B B A A B B A. What befalls the machine befalls both, and only ratios are looked at.

Interleaving matters more than any test: of the same code run one after the other, medians spanned 0.61 to 1.63.

Four rounds give one ratio. On a machine with every core busy the scheduler favours who has just slept, so that the
ratio of A B and that of B A may be as far apart as 0.76 and 1.35 with the same code; together they say 1.01. Taken as
two, a hundred pairs had an interval of 0.82 to 1.26, and as one of 0.98 to 1.05.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from .deciding import Interval, interval, settled

#: Takes this many steps and gives the seconds of each.
Steps = Callable[[int], Sequence[float]]

#: Shorter rounds measure the switch from one process to the other rather than the steps.
ROUND_SECONDS = 0.05
FEWEST, FIRST_LOOK, MOST, BETWEEN_LOOKS = 12, 30, 100, 10
_MOST_STEPS_A_ROUND = 500
#: Memory pools fill, code paths warm up, a DataLoader starts its workers.
WARM_UP = 5


class TooFewPairs(Exception):
    """The time budget was used up before anything could be said."""


@dataclass
class Pairs:
    """Seconds a step, round by round, always an even number of them on each side."""

    here: list[float] = field(default_factory=list)
    there: list[float] = field(default_factory=list)
    steps_a_round: int = 1

    @property
    def ratios(self) -> list[float]:
        each = [a / b for a, b in zip(self.here, self.there, strict=True)]
        return [math.sqrt(ab * ba) for ab, ba in zip(each[::2], each[1::2], strict=True)]

    def found(self) -> Interval:
        return interval(self.ratios)


def paired(here: Steps, there: Steps, tolerance: float, deadline: float = math.inf) -> Pairs:
    """More pairs until the interval settles the question, or there are 100, or the time is used up."""
    warm = [median(side(WARM_UP)) for side in (here, there)]
    steps = min(_MOST_STEPS_A_ROUND, max(1, math.ceil(ROUND_SECONDS / max(min(warm), 1e-6))))
    pairs = Pairs(steps_a_round=steps)
    while len(pairs.here) < MOST and time.monotonic() < deadline:
        turn = [(here, pairs.here), (there, pairs.there)]
        for side, seconds in (*turn, *reversed(turn)):
            taken = side(steps)
            seconds.append(sum(taken) / len(taken))
        count = len(pairs.here)
        if count >= FIRST_LOOK and (count - FIRST_LOOK) % BETWEEN_LOOKS == 0 and settled(pairs.found(), tolerance):
            break
    if len(pairs.here) < FEWEST:
        raise TooFewPairs(f"the time budget was used up after {len(pairs.here)} pairs, at least {FEWEST} are needed")
    return pairs
