"""A run through the data with a cure, beside the one without: does it do far better?"""

from __future__ import annotations

from statistics import median

from ..records.trace import Trace
from . import chance, learning_rates, loss_curve
from .course import CLEARLY_FELL, FEWEST_AT_THE_END, HALF_WAY, end, way_left
from .reference_points import points

#: A run with a cure has to end clearly below the level without (at half of it: of 20 faulty programs 17 ended below
#: that with whatever was tried, 0.09 by median; of 13 healthy programs for which cures were tried one got to 0.47), and
#: lower by a tenth of the first loss. Faulty: 17 of 18 programs at or above that tenth (median 0.94, the other 0.04);
#: the one healthy program: 0.04.
_BY_AT_LEAST = 0.1
#: A low level is far better only when it is a fifth; so is one that smaller steps lead to. Faulty: 0.11 to 0.16 (three
#: programs; a fourth, 1.0, had another cause). Healthy: from 0.91 on with smaller steps (12 programs), otherwise 0.47
#: (one).
_FAR_BELOW = 0.2


def far_better(cured: Trace, uncured: Trace) -> bool:
    if uncured.crash is not None or not uncured.finite or not uncured.losses:
        return True  # it does run
    if cured.applied.without_effect:
        return False
    if cured.applied.rescaled_targets:
        return way_left(cured) <= HALF_WAY and loss_curve.clearly_below(way_left(cured), way_left(uncured))
    if cured.applied.smaller_steps_from is not None:
        return _settles(cured, uncured)
    first, before, after = abs(uncured.losses[0]), end(uncured), end(cured)
    if chance.worse_than_chance(uncured, before) and after < (chance.chance_loss(uncured) or 0.0):
        return True  # a huge first loss is no measure
    if uncured.losses[0] > 0 and before > 0 and not loss_curve.clearly_below(after, before):
        return False
    if learning_rates.never_settles(uncured):
        return True  # never intended: half is enough
    if before < 0 and points(uncured).floor is None and uncured.losses[0] - before > CLEARLY_FELL * first:
        return False  # how low it may get is not known: falling faster proves nothing
    return before - after > _BY_AT_LEAST * first or (
        after > 0 and loss_curve.clearly_below(after, before, share=_FAR_BELOW)
    )


def _settles(cured: Trace, uncured: Trace) -> bool:
    """With smaller steps from some step on, at the end, where those without have long got as far as they get.

    Smaller steps take some noise out of every training; where it was noise that kept the loss up, it falls with them.
    """
    steps = min(len(cured.losses), len(uncured.losses))
    last = max(FEWEST_AT_THE_END, (steps - (cured.applied.smaller_steps_from or 0)) // 4)
    before, after = median(uncured.losses[steps - last : steps]), median(cured.losses[steps - last : steps])
    return after >= 0 and loss_curve.clearly_below(after, before, share=_FAR_BELOW)
