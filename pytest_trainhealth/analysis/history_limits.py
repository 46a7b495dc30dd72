"""Limits that several readings of a log share. Why the obvious ones are not used is said beside them.

Measured on `tests/histories/shapes.py`: 63 healthy shapes, of 12 to 3,000 values and from several seeds each, and 26
sick ones.
"""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

from .history_curve import Curve

#: Values that a shape needs, and that a pass needs. KNOWLEDGE.md gives "more than 10 points" for a divergence; five
#: that fall one after the other show that something was learnt.
ENOUGH_FOR_A_SHAPE, ENOUGH_FOR_A_PASS = 10, 5
#: Times the deviation of a single value, for the difference of two medians of three. By judgement: the lowest of many
#: windows lies below the others by chance alone.
_SURE = 5.0
#: However wide the windows are: neighbours in a log are not independent (running means, ordered batches). By judgement.
_AT_LEAST = 2.0
#: Values of the narrowest window, for which `_SURE` holds: 3.
_NARROWEST = 3
#: Of what was gained: giving back half of it is no noise and no bump. "The mean of the last 5 above that of the 5
#: before", as KNOWLEDGE.md has it, is true of every second healthy run that is flat at its end. Healthy shapes give
#: back at most 0.48 (a warm restart right before the end) and 0.19 (all others), but for those whose log says why.
GIVEN_BACK = 0.5
#: Of what was gained: so little given back is none. By judgement.
NEARLY_NOTHING = 0.2


def beyond_noise(curve: Curve) -> float:
    """How far two levels of a curve have to be apart, so that noise is no explanation."""
    return curve.noise * max(_AT_LEAST, _SURE / sqrt(curve.width / _NARROWEST))


def has_gained(curve: Curve) -> bool:
    """It came clearly below where it began; or, in a log of a few entries, each is below the one before.

    Of five values without a trend that is so once in 120 times; their noise cannot be told from their fall.
    """
    falls = all(after < before for before, after in pairwise(curve.values))
    return curve.gain > beyond_noise(curve) or (len(curve) >= ENOUGH_FOR_A_PASS and falls)


def ends_at_its_best(curve: Curve) -> bool:
    """It gained something, and has kept it."""
    return has_gained(curve) and curve.given_back <= max(NEARLY_NOTHING * curve.gain, beyond_noise(curve))
