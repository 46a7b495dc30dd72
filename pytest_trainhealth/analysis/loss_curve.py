"""The shape of a loss curve, by medians, so that one odd step decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from statistics import median


def level(losses: Sequence[float], share: float = 0.1) -> float:
    """Where the curve ends: the median of its last tenth, of at least five points."""
    return median(losses[-max(5, int(len(losses) * share)) :])


def clearly_below(level: float, other: float, *, share: float = 0.5) -> bool:
    """Half of the other or less, such as of the level without a cure: to bring 31 % down to 29 % proves nothing."""
    return level <= share * other


def spread(losses: Sequence[float]) -> float:
    """Median jump from one step to the next in the last half: the noise that a fall has to stand out from."""
    half = losses[len(losses) // 2 :]
    jumps = [abs(b - a) for a, b in pairwise(half)]
    return median(jumps) if jumps else 0.0


def still_falling(losses: Sequence[float]) -> bool:
    """The last eighth lies below the one before by at least 2 % of the whole fall.

    A straight line falls by 12.5 % of the whole in each eighth, so this is a sixth of its pace.
    """
    eighth = len(losses) // 8
    if eighth < 3:
        return True
    last, before = median(losses[-eighth:]), median(losses[-2 * eighth : -eighth])
    return before - last > 0.02 * abs(losses[0] - last) and last < losses[0]


def is_straight(losses: Sequence[float]) -> bool:
    """The last half fell at least two thirds as far as the first: creeping, not approaching a floor."""
    middle = len(losses) // 2
    if middle < 5:
        return False
    start, halfway, end = median(losses[:3]), median(losses[middle - 2 : middle + 3]), level(losses)
    return start > halfway > end and (halfway - end) > 0.67 * (start - halfway)


def oscillates(losses: Sequence[float]) -> bool:
    """Neighbouring losses of the last half jump by more than a fifth of the level, up and down again."""
    half = [x for x in losses[len(losses) // 2 :] if isfinite(x)]
    if len(half) < 8:
        return False
    jumps = [b - a for a, b in pairwise(half)]
    turns = sum(1 for a, b in pairwise(jumps) if a * b < 0)
    centre = median([abs(x) for x in half]) or 1e-12
    return median([abs(j) for j in jumps]) > 0.2 * centre and turns > 0.3 * len(jumps)


def stays(losses: Sequence[float]) -> bool:
    """It fell to less than half, and has hardly got lower for half of the time."""
    quarter = len(losses) // 4
    if quarter < 5 or losses[0] <= 0 or not all(map(isfinite, losses)):
        return False
    second, third, fourth = (median(losses[i * quarter : (i + 1) * quarter]) for i in (1, 2, 3))
    return fourth > 0.8 * third and third > 0.7 * second and _centre(losses) < 0.5 * losses[0]


def bounces(losses: Sequence[float]) -> bool:
    """It stays where it is, and goes up and down by a tenth of its level and more."""
    if not stays(losses):
        return False
    centre, half = _centre(losses), _last_half(losses)
    return median([abs(x - centre) for x in half]) > 0.1 * abs(centre)


def _last_half(losses: Sequence[float]) -> Sequence[float]:
    quarter = len(losses) // 4
    return losses[2 * quarter : 4 * quarter]


def _centre(losses: Sequence[float]) -> float:
    return median(_last_half(losses))
