"""The two revisions take turns: A B B A A B B A. What happens to the machine happens to both, and only ratios count.

Interleaving matters more than any statistical test: when the same code ran one after the other, ratios of medians
spanned 0.61 to 1.63.

Four rounds make one turn and give one ratio, that of their sums: if only every second step has become slower, the steps
of a turn have to be added up before they are divided. On a machine with every core busy, the scheduler favours the
process that has just slept, so that with the same code the ratio of A B and that of B A may be as far apart as 0.76 and
1.35; together they give 1.01. Taken as two, a hundred pairs had an interval of 0.82 to 1.26, and as one of 0.98 to
1.05.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from ..budget import monotonic
from .decision import WHILE_LOOKING, Interval, interval, settled
from .git import OutOfTime
from .step_sync import Paced, Taken, Untimed, together

#: Shorter rounds measure the switch between the processes rather than the steps. By judgement: 50 steps of 1 ms.
ROUND_SECONDS = 0.05
#: In pairs. Eight turns of two pairs each are the fewest that have a 99 % interval.
FEWEST, FIRST_LOOK, MOST, BETWEEN_LOOKS = 16, 30, 200, 10
#: The limit for very short steps. By judgement: 50 ms of steps of 0.1 ms.
_MOST_STEPS_A_ROUND = 500
#: The least for long steps, if there is time: when steps alternate in twos or threes, a turn then has as many of each
#: kind. By judgement: loops that do something else at every 4th step are rare.
_LEAST_STEPS_A_ROUND = 3
#: How many steps of such a round are not timed, on average: 1 or 2 in a turn's first round, 2 or 4 in its second.
_UNTIMED = 2.25
#: Memory pools fill, code paths warm up, a DataLoader starts its workers. As many as `timing.LEAST_WARM_UP`, 5.
WARM_UP = 5


class TooFewPairs(Exception):
    """The time budget was used up before anything could be decided."""


@dataclass
class Pairs:
    """Seconds a step in each round, always an even number of rounds for each revision."""

    current: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    steps_a_round: int = 1
    #: Of these, the seconds that a step waited for data.
    current_waits: list[float] = field(default_factory=list)
    other_waits: list[float] = field(default_factory=list)

    @property
    def turns(self) -> list[tuple[float, float]]:
        """Seconds a step of the current and of the other revision, both rounds of a turn together."""
        both = zip(_twos(self.current), _twos(self.other), strict=True)
        return [((a + a_again) / 2, (b + b_again) / 2) for (a, a_again), (b, b_again) in both]

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in self.turns]

    @property
    def typical(self) -> tuple[float, float]:
        """Seconds a step of both revisions, in the turn that has the median ratio (or between two such turns).

        The medians of each revision by itself may have another ratio than the one that is reported: a machine that was
        slow for a while was slow for both.
        """
        turns = sorted(self.turns, key=lambda turn: turn[0] / turn[1])
        (current, other), (next_current, next_other) = turns[(len(turns) - 1) // 2], turns[len(turns) // 2]
        return math.sqrt(current * next_current), math.sqrt(other * next_other)

    @property
    def waits(self) -> tuple[float, float]:
        """Seconds a step that each revision waits for data: the median of its rounds."""
        return median(self.current_waits or [0.0]), median(self.other_waits or [0.0])

    def add(self, a: Taken, b: Taken, b_again: Taken, a_again: Taken) -> None:
        """Adds a turn."""
        for taken in (a, a_again):
            self.current.append(taken.seconds_a_step)
            self.current_waits.append(taken.waited_a_step)
        for taken in (b, b_again):
            self.other.append(taken.seconds_a_step)
            self.other_waits.append(taken.waited_a_step)

    def found(self) -> Interval:
        return interval(self.ratios)


def paired(current: Paced, other: Paced, tolerance: float, deadline: float = math.inf) -> Pairs:
    """Collects pairs until the interval settles the question, or there are 200, or the time is used up."""
    pace = together(current, other)
    warm = [each.steps(pace.untimed, pace.timed(WARM_UP)) for each in (current, other)]
    steps = pace.timed(_steps_a_round([median(taken.seconds) for taken in warm], deadline - monotonic.now()))
    untimed, apart = Untimed(pace, steps), any(taken.broke_off for taken in warm)
    pairs, lasted = Pairs(steps_a_round=steps), 0.0
    while len(pairs.current) < MOST and (began := monotonic.now()) + lasted < deadline:
        first, second = untimed.of_a_turn()
        try:
            if apart:
                together(current, other)
            order = ((current, first), (other, first), (other, second), (current, second))
            rounds = [revision.steps(skipped, steps) for revision, skipped in order]
        except OutOfTime:  # complete turns are still valid
            break
        apart = any(taken.broke_off for taken in rounds)
        if apart:  # the two no longer take the same steps
            continue
        pairs.add(*rounds)
        lasted = monotonic.now() - began
        count = len(pairs.current)
        looks = count >= FIRST_LOOK and (count - FIRST_LOOK) % BETWEEN_LOOKS == 0
        if looks and settled(interval(pairs.ratios, WHILE_LOOKING), tolerance):
            break
    if len(pairs.current) < FEWEST:
        raise TooFewPairs(f"the time budget was used up after {len(pairs.current)} pairs, at least {FEWEST} are needed")
    return pairs


def _steps_a_round(warm: Sequence[float], left: float) -> int:
    """Fewer than three only if three would not leave time for a first look."""
    enough = math.ceil(ROUND_SECONDS / max(min(warm), 1e-6))
    affordable = int(left / (FIRST_LOOK * sum(warm)) - _UNTIMED) if math.isfinite(left) else _LEAST_STEPS_A_ROUND
    least = max(1, min(_LEAST_STEPS_A_ROUND, affordable))
    return min(_MOST_STEPS_A_ROUND, max(least, enough))


def _twos(rounds: Sequence[float]) -> Iterator[tuple[float, float]]:
    return zip(rounds[::2], rounds[1::2], strict=True)
