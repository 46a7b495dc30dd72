"""Both sides at the same step of the same start, so that they time the very same steps.

Batches need not cost the same: an epoch has a short last one, gradients are accumulated over four. A side that always
left out the dear one of three was 1.48 times as fast as the same code on the other side, which left out a cheap one.
So both begin again before a comparison, and from there on take the same number of steps, timed and untimed.
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
    """What decides how far a side is after so many steps. Of two sides the slower one's is used on both."""

    #: That make batches, each of which may have one ready that nobody waited for.
    workers: int = 0
    #: Batches that are thrown away after a start, because they were made ahead.
    ahead: int = 0
    #: Steps from one start.
    max_steps: int = sys.maxsize

    def joined(self, other: Pace) -> Pace:
        workers, ahead = max(self.workers, other.workers), max(self.ahead, other.ahead)
        return Pace(workers, ahead, min(self.max_steps, other.max_steps))

    def starts_like(self, other: Pace) -> bool:
        return (self.ahead, self.max_steps) == (other.ahead, other.max_steps)

    @property
    def untimed(self) -> int:
        """The fewest steps at the beginning of a round: the other side had the caches."""
        return max(1, self.workers)

    def timed(self, count: int) -> int:
        """Workers that began together are done together: each has its turn as often as the others."""
        return math.ceil(count / self.untimed) * self.untimed


@dataclass(frozen=True)
class Taken:
    """Seconds of each step that was timed, and those of them that it waited for data."""

    seconds: Sequence[float]
    waits: Sequence[float] = ()
    #: The training did not go on so far, and has begun again where the other side may not have.
    broke_off: bool = False

    @property
    def seconds_a_step(self) -> float:
        return sum(self.seconds) / len(self.seconds)

    @property
    def waited_a_step(self) -> float:
        return sum(self.waits) / len(self.seconds)


class Paced(Protocol):
    def begin(self, pace: Pace) -> Pace:
        """Once more from the start, aside from the clock. The side's own pace, where it is the slower one."""

    def steps(self, untimed: int, count: int) -> Taken: ...


def together(current: Paced, other: Paced) -> Pace:
    """Both begin again, and have the same way before them."""
    near, far = (side.begin(Pace()) for side in (current, other))
    pace = near.joined(far)
    if not near.starts_like(far):
        for side in (current, other):
            side.begin(pace)
    return pace


class Untimed:
    """How many steps at the beginning of a round are not timed: now and then one more than needed.

    With always as many, a round could be as long as an epoch, and would never time the same batch. Always the same
    sequence, so that a comparison that is repeated is the same one.
    """

    def __init__(self, pace: Pace, timed: int) -> None:
        self._least, self._timed = pace.untimed, timed
        self._random = random.Random(0)

    def of_a_turn(self) -> tuple[int, int]:
        """For the first round of each side, and for the second.

        Of an odd number of steps one more is even than odd, or the other way round: then an even number of untimed
        ones, two or four, lets the second round have one more of the other kind. Always two would do for that, but
        with three timed ones both rounds would be at the same place of an epoch of five.
        """
        first, more = (self._random.randrange(2) for _ in range(2))
        if self._timed % 2:
            return self._least + first, self._least + self._least % 2 + 2 * more
        return self._least + first, self._least + more
