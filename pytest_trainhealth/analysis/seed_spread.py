"""How far a figure may be from a recorded one: by rounding if the run is the same, by chance if its seed is another.

Neither is guessed: a baseline was recorded from several seeds, and from runs in which nothing but rounding differed.
"""

from __future__ import annotations

from math import sqrt

from ..records.baseline import Figure

#: Times the largest difference that rounding made in four runs. Together with the two below: of 36 ways to write four
#: models (a matrix product or float64 for a linear layer, channels-last, fused attention, optimizers and losses, a sum
#: divided by its length, ...) none comes to more than 0.66 of what is allowed.
ROUNDING = 10.0
#: Of the value: files hold 6 digits.
DIGITS = 1e-5
#: Of the largest figure of its kind in the model: a bias in front of a BatchNorm has a gradient of rounding errors, and
#: of nothing else. In these 36 up to 7e-7 of the largest.
FLOOR = 1e-5
#: Of the value, where other random numbers are drawn: Adam's first update has the same size with every seed but for the
#: one in which a gradient is as small as its eps. In 3 of 42 models with other draws, by up to 1e-4; with this, none of
#: 28 such models is taken for another training.
_RARELY = 0.01
#: Two-sided limits of Student's t for 1 in 100,000, by the number of seeds that a spread comes from. A model of 100
#: layers has 300 figures, so that one in 300 such comparisons would be wrong by chance.
_STUDENT = {3: 316.0, 4: 60.4, 5: 27.8, 6: 17.9, 7: 13.6, 8: 11.2, 9: 9.8, 10: 8.8}
#: Fewer seeds say nothing about a spread: with 2, its limit would be 63,662 times.
FEWEST_SEEDS, MOST_SEEDS = 3, 10


def by_rounding(figure: Figure, largest: float = 0.0) -> float:
    """How far the same run may be from it."""
    return ROUNDING * figure.rounding + DIGITS * abs(figure.value) + FLOOR * largest


def by_chance(figure: Figure, seeds: int) -> float | None:
    """How far a run with another seed may be from the mean of those recorded; None where that is not known."""
    if figure.mean is None or figure.spread is None or seeds < FEWEST_SEEDS:
        return None
    return _STUDENT[min(seeds, MOST_SEEDS)] * figure.spread * sqrt(1 + 1 / seeds)


def is_the_same(figure: Figure, value: float, largest: float = 0.0) -> bool:
    return abs(value - figure.value) <= by_rounding(figure, largest)


def may_be_chance(figure: Figure, value: float, seeds: int, largest: float = 0.0, *, computed: bool = True) -> bool:
    """Whether another seed explains the difference.

    `computed`: in a step. A value that a training starts with, the same with every seed, is a constant.
    """
    reach = by_chance(figure, seeds)
    if is_the_same(figure, value, largest):
        return True
    if reach is None or figure.mean is None:
        return False
    rarely = _RARELY * abs(figure.mean) if computed else 0.0
    return abs(value - figure.mean) <= max(reach, rarely) + FLOOR * largest
