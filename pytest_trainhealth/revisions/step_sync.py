"""Keeps both revisions at the same step after the same start, so that they time the very same steps.

Steps need not cost the same: the last batch of an epoch is short, gradients are accumulated over four steps. A process
that always left out the slow one of three steps was 1.48 times as fast as one with the same code that left out a fast
one. So both start over before a comparison, and from then on take the same number of steps, timed and untimed.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Pace:
    """What decides how far a revision gets with a number of steps. Both use the slower one's values (see `joined`)."""

    #: Worker processes that make batches; each may have one ready that no step waited for.
    workers: int = 0
    #: Batches that are thrown away after a start, because they were made in advance.
    ahead: int = 0
    #: Steps until it has to start over.
    max_steps: int = sys.maxsize

    def joined(self, other: Pace) -> Pace:
        workers, ahead = max(self.workers, other.workers), max(self.ahead, other.ahead)
        return Pace(workers, ahead, min(self.max_steps, other.max_steps))

    def starts_like(self, other: Pace) -> bool:
        return (self.ahead, self.max_steps) == (other.ahead, other.max_steps)

    @property
    def untimed(self) -> int:
        """The fewest untimed steps at the beginning of a round: the other revision has just used the caches."""
        return max(1, self.workers)

    def timed(self, count: int) -> int:
        """Rounds up so that all workers make equally many batches: those that begin together are done together."""
        return math.ceil(count / self.untimed) * self.untimed


@dataclass(frozen=True)
class Taken:
    """The seconds of each timed step, and how many of them it waited for data."""

    seconds: Sequence[float]
    waits: Sequence[float] = ()
    #: The training ended early and has started over, which the other revision may not have done.
    broke_off: bool = False

    @property
    def seconds_a_step(self) -> float:
        return sum(self.seconds) / len(self.seconds)

    @property
    def waited_a_step(self) -> float:
        return sum(self.waits) / len(self.seconds)


class Paced(Protocol):
    def begin(self, pace: Pace) -> Pace:
        """Starts over, untimed, at this pace or its own if that is slower; returns the pace it uses."""

    def steps(self, untimed: int, count: int) -> Taken: ...


def together(current: Paced, other: Paced) -> Pace:
    """Both start over at the same pace, and so take the same steps from here on."""
    own, others = (revision.begin(Pace()) for revision in (current, other))
    pace = own.joined(others)
    if not own.starts_like(others):
        for revision in (current, other):
            revision.begin(pace)
    return pace


class Untimed:
    """How many steps at the beginning of a round are not timed: now and then one more than needed.

    If it were always the same number, a round could be as long as an epoch, and some batch would never be timed. The
    sequence is fixed, so that repeating a comparison repeats it exactly.
    """

    def __init__(self, pace: Pace, timed: int) -> None:
        self._least, self._timed = pace.untimed, timed
        self._random = random.Random(0)

    def of_a_turn(self) -> tuple[int, int]:
        """The number for the first round of each revision, and for its second.

        An odd number of timed steps has one more even step than odd ones, or the other way round. An even number of
        untimed steps, two or four, then gives the second round one more of the other kind. Always two would be enough
        for that, but with three timed steps both rounds would be at the same place of an epoch of five.
        """
        first, more = (self._random.randrange(2) for _ in range(2))
        if self._timed % 2:
            return self._least + first, self._least + self._least % 2 + 2 * more
        return self._least + first, self._least + more
