"""The course of a loss over several batches: where it starts, where it ends, how much of its way is left.

Batches differ, so an end is a level over many steps, not the last value.
"""

from __future__ import annotations

from statistics import fmean, median

from ..records.trace import Trace
from .reference_points import points

#: A fall by half of the first loss is clear whatever the noise. Of 136 healthy programs that did not reach a tenth 101
#: fell further, of 64 faulty ones 20.
CLEARLY_FELL = 0.5
#: Losses, however short the curve. By judgement: of 5 two may be odd.
FEWEST_AT_THE_END = 5
#: Of the way from the floor up to a guess. Of 86 healthy twins three are above after 160 steps (11 after 80), of 72
#: faulty ones 45.
HALF_WAY = 0.5
#: Of the third quarter, with steps that are large. Asked of few: of 5 healthy programs 2 are above (-0.09 to 0.10), of
#: 12 faulty ones 7 (-0.5 to 0.36). By judgement.
_FALLS_ON = 0.05
#: Of the first loss. Healthy: one of 55 programs grew by 0.3, the others fell by 0.09 and more; faulty: 7 of 63 grew by
#: up to 7.3.
_GREW = 0.2


def end(trace: Trace) -> float:
    """Over the last third, because batches differ.

    The middle one, which no odd batch moves. Of single samples the mean: when most are told with confidence and some
    wrongly with as much, the wrong ones are what there is to learn.
    """
    last = trace.losses[-max(FEWEST_AT_THE_END, len(trace.losses) // 3) :]
    return fmean(last) if trace.batch_size == 1 else median(last)


def way_left(trace: Trace) -> float:
    """Of the way from a guess (or the first loss, where that is lower) down to the floor: 1 is nothing learnt."""
    marks, first, last = points(trace), trace.losses[0], end(trace)
    start, floor = marks.start(first), marks.floor if marks.floor is not None else min(0.0, first)
    return (last - floor) / (start - floor) if start > floor else 1.0


def falls_on(losses: list[float]) -> bool:
    """The last quarter is lower than the third by a twentieth: steps this large still go the right way."""
    quarter = len(losses) // 4
    third, last = median(losses[-2 * quarter : -quarter]), median(losses[-quarter:])
    return third - last > _FALLS_ON * abs(third)


def grows(trace: Trace) -> bool:
    first = trace.losses[0]
    return end(trace) > first + _GREW * abs(first)
