"""Whether something is there that can keep a training from learning, and the curve looks like it.

None of it is an alarm by itself: healthy trainings look odd, too, so a re-run without it decides.
"""

from __future__ import annotations

from statistics import median

from ..records.trace import Trace
from ..records.verdict import Symptom
from . import course, learning_rates, loss_curve, wiring
from .learning_symptoms import FELL_SOMEWHAT, LEARNT, symptom_of
from .reference_points import points

#: Of a weight in one update, by median. Rates too high: 0.51 to 2.6, needing a decay: 0.62 and 1.1; healthy programs:
#: 95 % below 0.08, 38 of 291 above, so a cure decides.
_LARGE_UPDATE = 0.05
#: The same: healthy at least 6.4e-4 (291 programs), rates too low at most 3.5e-5 (three).
_SMALL_UPDATE = 1e-4
#: Of the values of a sigmoid or tanh, at the first step. Healthy: at most 0.05 (183 programs), the faulty one: 0.96.
_AT_THE_ENDS = 0.5


def odd_one(trace: Trace, first: float, last: float, fell: float) -> Symptom | None:
    """Something that can keep a training from learning is there, and the curve looks like it."""
    if plainly_wrong(trace):
        return symptom_of(trace, first, last)
    if fell > 1 - LEARNT:
        return None
    if learning_rates.odd_course(trace) is not None or learning_rates.odd_setting(trace) is not None:
        return symptom_of(trace, first, last)
    if fell > course.CLEARLY_FELL and not loss_curve.bounces(trace.losses):
        return None
    ratios = wiring.update_ratios(trace)
    size = median(ratios) if ratios else 0.0
    large = size >= _LARGE_UPDATE and not course.falls_on(trace.losses)
    if large or 0 < size <= _SMALL_UPDATE or loss_curve.bounces(trace.losses) or course.grows(trace):
        return symptom_of(trace, first, last)
    return None


def plainly_wrong(trace: Trace) -> bool:
    """What harms a training however far its loss has fallen; how much, a re-run without it shows."""
    if learning_rates.never_settles(trace) or learning_rates.cannot_settle(trace) or wiring.batch_norms_starved(trace):
        return True
    return _learns_on_top(trace) and _lags(trace) and at_the_limits(trace)


def at_the_limits(trace: Trace) -> bool:
    """Whether that keeps the loss up shows late: layers after such units learn at first."""
    return any(a.saturated.get(0, 0.0) >= _AT_THE_ENDS for a in trace.numbers.activations.values())


def _learns_on_top(trace: Trace) -> bool:
    """Layers after the saturated ones do learn; a loss that does not move may yet leave its plateau."""
    first, last = trace.losses[0], course.end(trace)
    return first - last > FELL_SOMEWHAT * abs(first)


def _lags(trace: Trace) -> bool:
    """Not half of the way down to the floor, where that is known."""
    return not points(trace).known or course.way_left(trace) > course.HALF_WAY


def creeps(trace: Trace) -> bool:
    ratios = wiring.update_ratios(trace)
    return bool(ratios) and 0 < median(ratios) <= _SMALL_UPDATE


def stands_still(trace: Trace) -> bool:
    """No parameter moved, as far as it is known what the parameters are."""
    return bool(trace.trainable) and not trace.wiring.trains_unknown and not any(p.moved for p in trace.trainable)
