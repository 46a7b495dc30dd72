"""The shape of a loss curve, by medians, so that one odd step decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from statistics import median

# Measured on the first runs of 299 healthy and 158 faulty programs of the corpus (5 of the 66 of Hugging Face, which
# are slow); so are the figures in learning_rates.py and in the checks. No shape below is an alarm by itself: healthy
# and faulty curves overlap, and a control or a cure has to prove what a shape only suggests.

#: Of the curve. By judgement: of the 200 steps of overfits_one_batch the last 20, enough for a median and too few for a
#: trend.
_END = 0.1
#: Losses, however short the curve. By judgement: of 5 two may be odd.
_FEWEST_AT_THE_END = 5
#: Losses, or the curve is too short to tell. By judgement: of 3 one may be odd.
_FEWEST_IN_AN_EIGHTH = 3
#: A sixth of the pace of a straight line. Used where 200 steps were not enough: 20 of 35 healthy and 22 of 57 faulty
#: programs fell on and got more; of three with a rate that is too low two were at 0.13.
_FALLS_ON = 0.02
#: Of what lies above the floor. By judgement: at this pace a sixth of it is gone after another run of this length.
_OF_WHAT_IS_LEFT = 0.02
#: Steps. By judgement: with fewer the medians of 3 and 5 losses share some.
_FEWEST_IN_A_HALF = 5
#: Two of two that creep because of a low rate: 0.87 and 0.89. Where it is used, along with a fall of less than 0.2, the
#: others have at most 0.14 (1 healthy, 7 faulty); healthy curves that fell to a tenth are above in 59 of 271 cases,
#: where it is not used.
_NEARLY_AS_STEEP = 0.67
#: Losses of the last half. By judgement: 7 jumps, of which 3 have to turn.
_FEWEST_TO_OSCILLATE = 8
#: Of the level. On one batch 27 of 261 healthy curves jump further (95 % of all stay below 0.26), of those that fail 0
#: of 35: rates too high have 0 to 0.18 there, and 0.20 to 0.53 over several batches. It words a symptom and is
#: evidence, no verdict.
_LARGE_JUMPS = 0.2
#: Of the jumps. Of the 27 healthy curves with large jumps on one batch 14 fall steeply (0 to 0.29) and 13 go up and
#: down (from 0.42 on); noise alone is at 0.67, and over several batches all are above 0.37.
_TURNS_OFTEN = 0.3
#: Losses. By judgement: of 5 two may be odd.
_FEWEST_IN_A_QUARTER = 5
#: The last quarter against the third. Two that need a decay: 0.91 and 0.95; 195 of 284 healthy programs fall further.
#: Together with the next two, 29 of 293 healthy programs stay.
_HARDLY_LOWER = 0.8
#: The third quarter against the second, which may still fall. Two that need a decay: 0.80 and 1.02; 174 of 287 healthy
#: programs fall further.
_HARDLY_LOWER_BEFORE = 0.7
#: Of the first loss. Two that need a decay: 0.06 and 0.18; rates too high are at 1.2 and more, rates too low at 1.0; 52
#: of 293 healthy programs are above.
_FELL_FAR = 0.5
#: Of the level. Healthy programs that stay have 0.03 to 0.70 (22 of 29 above), two that need a decay 0.05 and 0.13, so
#: a cure decides: by judgement.
_UP_AND_DOWN = 0.1
#: Instead of a level of 0, below any loss that matters: 1e-12.
_NO_ZERO = 1e-12


def level(losses: Sequence[float], share: float = _END) -> float:
    """Where the curve ends: the median of its last tenth, of at least five points."""
    return median(losses[-max(_FEWEST_AT_THE_END, int(len(losses) * share)) :])


def clearly_below(level: float, other: float, *, share: float = 0.5) -> bool:
    """Half of the other or less, such as the level without a cure: bringing 31 % down to 29 % proves nothing."""
    return level <= share * other


def spread(losses: Sequence[float]) -> float:
    """Median jump from one step to the next in the last half: the noise that a fall has to stand out from."""
    half = losses[len(losses) // 2 :]
    jumps = [abs(b - a) for a, b in pairwise(half)]
    return median(jumps) if jumps else 0.0


def still_falling(losses: Sequence[float], floor: float | None = None) -> bool:
    """The last eighth lies below the one before by at least 2 % of the whole fall, or by 2 % of what is left of it.

    A straight line falls by 12.5 % of the whole in each eighth, so this is a sixth of its pace. What is left can be
    told only above a floor that is known.
    """
    eighth = len(losses) // 8
    if eighth < _FEWEST_IN_AN_EIGHTH:
        return True
    last, before = median(losses[-eighth:]), median(losses[-2 * eighth : -eighth])
    falls_on = before - last > _FALLS_ON * abs(losses[0] - last)
    left = floor is not None and before - last > _OF_WHAT_IS_LEFT * (before - floor)
    return (falls_on or left) and last < losses[0]


def is_straight(losses: Sequence[float]) -> bool:
    """The last half fell at least two thirds as far as the first: creeping, not approaching a floor."""
    middle = len(losses) // 2
    if middle < _FEWEST_IN_A_HALF:
        return False
    start, halfway, end = median(losses[:3]), median(losses[middle - 2 : middle + 3]), level(losses)
    return start > halfway > end and (halfway - end) > _NEARLY_AS_STEEP * (start - halfway)


def oscillates(losses: Sequence[float]) -> bool:
    """Neighbouring losses of the last half jump by more than a fifth of the level, up and down again."""
    half = [x for x in losses[len(losses) // 2 :] if isfinite(x)]
    if len(half) < _FEWEST_TO_OSCILLATE:
        return False
    jumps = [b - a for a, b in pairwise(half)]
    turns = sum(1 for a, b in pairwise(jumps) if a * b < 0)
    centre = median([abs(x) for x in half]) or _NO_ZERO
    return median([abs(j) for j in jumps]) > _LARGE_JUMPS * centre and turns > _TURNS_OFTEN * len(jumps)


def stays(losses: Sequence[float]) -> bool:
    """It fell to less than half, and has hardly fallen further for half of the time."""
    quarter = len(losses) // 4
    if quarter < _FEWEST_IN_A_QUARTER or losses[0] <= 0 or not all(map(isfinite, losses)):
        return False
    second, third, fourth = (median(losses[i * quarter : (i + 1) * quarter]) for i in (1, 2, 3))
    hardly_lower = fourth > _HARDLY_LOWER * third and third > _HARDLY_LOWER_BEFORE * second
    return hardly_lower and _centre(losses) < _FELL_FAR * losses[0]


def bounces(losses: Sequence[float]) -> bool:
    """It stays where it is, and goes up and down by a tenth of its level and more."""
    if not stays(losses):
        return False
    centre, half = _centre(losses), _last_half(losses)
    return median([abs(x - centre) for x in half]) > _UP_AND_DOWN * abs(centre)


def _last_half(losses: Sequence[float]) -> Sequence[float]:
    quarter = len(losses) // 4
    return losses[2 * quarter : 4 * quarter]


def _centre(losses: Sequence[float]) -> float:
    return median(_last_half(losses))
