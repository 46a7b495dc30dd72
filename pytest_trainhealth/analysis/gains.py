"""How much sooner the same loss is reached: pairs of runs in, a gain with its interval out.

The loss that counts is the one that the unchanged run ends with, as the mean over its last steps. Whatever the change
is, both runs of a pair begin at the same point with the same random numbers, so that much of the noise is in both.

With seventeen changes tried, the best of them looks better than it is, and one of them may look better by luck alone.
So a change is chosen on some seeds and judged on others: what is claimed, and its figure, come from seeds that had no
part in the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, stdev

from ..records.advice import PairOfRuns, TimedRun

#: Of a run, the steps whose losses are averaged. By judgement: a tenth shows the course, and one batch does not decide.
_WINDOW = 0.1
#: Steps: fewer are no mean. By judgement.
_SHORTEST_WINDOW = 5
#: A smaller gain is not worth an edit. By judgement: a quarter, as the rates of a tuned training are known to a factor
#: of two or so, and that alone makes a difference of some percent.
WORTH = 1.25
#: The low end of the interval has to be above. By judgement: 1.1, so that a gain is one on nearly every seed.
SURE = 1.1
#: A run that never gets there. By judgement: a hundredth is as good as nothing, and has a logarithm.
_NEVER = 0.01
#: Of what the loss falls by: a run that ends this much higher ends as low, give or take the noise of its last batches.
#: By judgement: 5 %, as runs that differ in nothing but the order of sums differ by up to that.
_AS_LOW = 0.05
#: A loss on joined batches, times that on each. By judgement: 2.5, between the 1 of a mean and the 4 of a sum.
_A_SUM = 2.5
#: Two-sided 95 % points of Student's t distribution, for 2 to 10 values.
_T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
#: Of a larger number of values: as many as never occur here. 1.96 is the limit.
_T_LIMIT = 1.96


@dataclass(frozen=True)
class Gain:
    """Of one pair, as factors: 2 is twice as good."""

    steps: float
    speed: float

    @property
    def total(self) -> float:
        return self.steps * self.speed


@dataclass(frozen=True)
class Estimate:
    """Over seeds: the geometric mean, and its 95 % interval; both ends are the mean where there is one value only."""

    middle: float
    low: float
    high: float
    count: int


def gain(pair: PairOfRuns, *, learns: bool, timed: bool) -> Gain:
    """`learns`: the change may need fewer steps. `timed`: its steps may take another time."""
    speed = 1.0
    if timed and pair.unchanged.seconds > 0 and pair.changed.seconds > 0:
        speed = pair.unchanged.seconds / pair.changed.seconds
    return Gain(_fewer_steps(pair) if learns else float(_as_low(pair)) or _NEVER, speed)


def _fewer_steps(pair: PairOfRuns) -> float:
    before, after = pair.unchanged.losses, pair.changed.losses
    if _fell_short(pair.unchanged, pair.changed):
        return _NEVER
    window = _window(len(before))
    curve, changed = _means(before, window), _means(after, window)
    wanted = curve[-1]
    if changed[-1] > wanted + _AS_LOW * max(curve[0] - wanted, 0.0):  # sooner, and then worse: that is no gain
        return _NEVER
    return _first(curve, wanted, window) / _first(changed, wanted, window)


def _as_low(pair: PairOfRuns) -> bool:
    if _fell_short(pair.unchanged, pair.changed):
        return False
    window = _window(len(pair.unchanged.losses))
    before, after = _means(pair.unchanged.losses, window), _means(pair.changed.losses, window)
    return after[-1] <= before[-1] + _AS_LOW * max(before[0] - before[-1], 0.0)


def _fell_short(unchanged: TimedRun, changed: TimedRun) -> bool:
    broken = changed.broken or not all(map(math.isfinite, changed.losses))
    return bool(broken) or len(changed.losses) < len(unchanged.losses) or not unchanged.losses


def _window(steps: int) -> int:
    return min(steps, max(_SHORTEST_WINDOW, round(_WINDOW * steps)))


def _means(losses: Sequence[float], window: int) -> list[float]:
    """Of each `window` losses that follow one another."""
    sums = [0.0, *accumulate(losses)]
    return [(sums[end] - sums[end - window]) / window for end in range(window, len(sums))]


def _first(means: Sequence[float], level: float, window: int) -> float:
    """The step in the middle of the first window that is as low, counted from 1; or of the last, if none is."""
    return next((place for place, mean in enumerate(means) if mean <= level), len(means) - 1) + (window + 1) / 2


def estimate(values: Sequence[float]) -> Estimate:
    logs = [math.log(value) for value in values]
    middle, count = fmean(logs), len(logs)
    if count == 1:
        return Estimate(values[0], values[0], values[0], 1)
    wide = (_T[count - 2] if count - 2 < len(_T) else _T_LIMIT) * stdev(logs) / math.sqrt(count)
    return Estimate(math.exp(middle), math.exp(middle - wide), math.exp(middle + wide), count)


def promising(values: Sequence[float]) -> bool:
    """On the seeds that choose: better on each of them, and by enough."""
    return bool(values) and min(values) > 1 and estimate(values).middle >= WORTH


def shown(values: Sequence[float]) -> bool:
    """On seeds that had no part in the choice: better by enough, and the whole interval says so."""
    if not values:
        return False
    found = estimate(values)
    return found.middle >= WORTH and found.low > SURE


def as_good(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the first gains at least as much as the second, by what is known of both."""
    return bool(one) and bool(other) and estimate(one).middle >= estimate(other).middle


def same_course(runs: Sequence[TimedRun]) -> bool:
    """Whether seeds make no difference: the training begins with given weights, and draws no random numbers."""
    return len(runs) > 1 and all(run.losses == runs[0].losses for run in runs[1:])


def comparable(pair: PairOfRuns, batches: int) -> bool:
    """With batches that are so many times as large, a mean over the batch begins where it did, and a sum does not."""
    first = fmean(pair.unchanged.losses[:batches])
    return not pair.changed.losses or abs(pair.changed.losses[0]) <= _A_SUM * abs(first)
