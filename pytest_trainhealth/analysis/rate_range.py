"""Which learning rates work, from runs at several of them: one after the other, and where to look next.

Rates are compared by how far each gets in the same number of steps from the same start. What works is a range, not a
best rate: between its ends a factor of 3 hardly matters, and beyond them the loss stays, jumps or breaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from ..records.rate_range import RatePoint, RateRange

#: Of the way that the best rate gets. By judgement: half as far in as many steps is what twice the steps make up for.
_WORKS = 0.5
#: Of the loss from which learning counts: less is no way at all. By judgement: as in learns_from_data, 0.05.
_HARDLY_FELL = 0.05
#: Of the same: a loss that has leapt so far above it was thrown out of its valley, wherever it ends. As in lr-too-high,
#: 0.5: of 299 healthy programs all but two rose by 0.41 at most.
_LEAPT = 0.5
#: Powers of 10 from the training's own rate, to either side. By judgement: a rate that is mistyped is off by 5 at most.
_FARTHEST = 5

#: A rate by the half powers of 10 that it is away from the training's own.
HalfPowers = int
#: What a run at a rate came to: where its loss ended (None: it broke), and the highest that it got on the way.
Run = tuple[float | None, float]


def factor(halves: HalfPowers) -> float:
    """3 and a third of it where it is half a power of 10, as rates are written."""
    whole, half = divmod(halves, 2)
    return float(10.0**whole * (3.0 if half else 1.0))


def next_rate(start: float, runs: Mapping[HalfPowers, Run]) -> HalfPowers | None:
    """The rate to try next. None when the range is known as well as it can be.

    First whole powers of 10 in both directions, each as long as the rates work or get better; then the half powers at
    the two ends of what works.
    """
    if 0 not in runs:
        return 0
    for side in (-2, 2):
        at = 0
        while at + side in runs:
            at += side
        better = at == 0 or _end(runs, at) < _end(runs, at - side) or _works(start, runs, at)
        leapt = _leapt(start, runs, at)  # higher rates leap even further, lower ones do not
        goes_on = better and not leapt if side > 0 else better or leapt
        if goes_on and abs(at) < 2 * _FARTHEST:
            return at + side
    working = [at for at in runs if _works(start, runs, at)]
    edges = (min(working) - 1, max(working) + 1) if working else ()
    return next((edge for edge in edges if edge not in runs and edge % 2), None)


def range_of(rate: float, steps: int, start: float, runs: Mapping[HalfPowers, Run]) -> RateRange:
    """What the runs so far show."""
    points = tuple(RatePoint(rate * factor(at), *runs[at]) for at in sorted(runs))
    working = [at for at in sorted(runs) if _works(start, runs, at)]
    if not working:
        why = f"no rate that was tried gets anywhere in {steps} steps"
        return RateRange(rate, steps, start, points, why_not=why)
    around = _around_best(working, runs)
    best = min(around, key=lambda at: _end(runs, at))
    low, high = rate * factor(around[0]), rate * factor(around[-1])
    return RateRange(rate, steps, start, points, low, high, rate * factor(best))


def peak(losses: Sequence[float]) -> float:
    """By medians of five, so that one odd batch decides nothing."""
    return max((median(losses[at : at + 5]) for at in range(max(1, len(losses) - 4))), default=0.0)


def _around_best(working: Sequence[HalfPowers], runs: Mapping[HalfPowers, Run]) -> list[HalfPowers]:
    """Those around the best, without a rate between them that does not work."""
    tried, best = sorted(runs), min(working, key=lambda at: _end(runs, at))
    low = high = tried.index(best)
    while low > 0 and tried[low - 1] in working:
        low -= 1
    while high + 1 < len(tried) and tried[high + 1] in working:
        high += 1
    return tried[low : high + 1]


def _end(runs: Mapping[HalfPowers, Run], at: HalfPowers) -> float:
    found = runs.get(at, (None, 0.0))[0]
    return float("inf") if found is None else found


def _leapt(start: float, runs: Mapping[HalfPowers, Run], at: HalfPowers) -> bool:
    return runs[at][1] > start + _LEAPT * abs(start)


def _works(start: float, runs: Mapping[HalfPowers, Run], at: HalfPowers) -> bool:
    calm = [end for each, (end, _) in runs.items() if end is not None and not _leapt(start, runs, each)]
    way = start - min(calm, default=start)
    far = start - _end(runs, at) >= _WORKS * way
    return way > _HARDLY_FELL * abs(start) and far and not _leapt(start, runs, at)
