"""The loss of guessing the same answer for every sample: what a first loss is compared with.

A first loss of 50 among ten classes falls below a tenth by falling to chance, which is not learning. Neither is a
penalty on the weights, many times the loss function's value, that falls by itself.
"""

from __future__ import annotations

from math import log

from ..records.loss_functions import BINARY, WITH_CLASSES
from ..records.losses import LossCall
from ..records.trace import Trace
from .loss_curve import clearly_below

_SQUARES = {"mse_loss", "squared difference"}
_SIZES = {"l1_loss", "absolute difference"}
_CLASSES = {*WITH_CLASSES, "log-likelihood"}
#: A first loss this many times that of a guess: a tenth of it may still be no better than guessing. Healthy: 1.02 by
#: median, 186 of 194 programs below 3; faulty: 7 of 50 above.
_FAR_ABOVE = 3.0
#: A loss that is this many times its function's value, the rest being a penalty on the parameters. The faulty program:
#: 25, the healthy one with a penalty: 1.0. By judgement in between.
_DROWNED = 5.0
#: A training that stays above half of a guess's loss may only see noise; one this many times worse has not begun. Over
#: several batches, of programs that start far above: healthy one of 8 (7.1) and faulty 4 of 10, so a cure decides.
_WORSE = 2.0
#: Times the loss of a guess among the classes, of a first loss; and steps that a run through the data spends above it.
#: Of 700 healthy programs and twins the highest are an angular margin (6.1, for 12 steps), a distillation (4.8, for 12)
#: and a T5 (4.0, for more than 20); of faulty ones four are above 8 and get down at all, after 29 steps and more.
_TOO_SURE, _UNDOING = 8.0, 20


def too_sure_at_first(trace: Trace) -> bool:
    """Before anything is learnt the answers are wrong with confidence, and it takes many steps to undo that.

    A training that never does has another fault, or a graver one.
    """
    known = _among_classes(trace)
    if known is None or not trace.losses or not trace.losses[0] > _TOO_SURE * known:
        return False
    return _UNDOING <= steps_to_a_guess(trace, known) < len(trace.losses)


def calmer_at_first(cured: Trace, uncured: Trace) -> bool:
    """The first loss is near that of a guess, and what takes many steps without the cure takes half with it."""
    known = _among_classes(uncured)
    if known is None or not cured.losses or cured.losses[0] > _FAR_ABOVE * known:
        return False
    return 2 * steps_to_a_guess(cured, known) <= steps_to_a_guess(uncured, known)


def steps_to_a_guess(trace: Trace, level: float) -> int:
    return next((step for step, loss in enumerate(trace.losses) if loss <= level), len(trace.losses))


def _among_classes(trace: Trace) -> float | None:
    """The loss of a guess, where the model chooses among classes: no other scale tells how sure an answer is."""
    functions = {call.function for call in trace.loss.calls if call.step == 0}
    return chance_loss(trace) if functions <= {*_CLASSES, *BINARY} else None


def chance_loss(trace: Trace) -> float | None:
    """None where the loss is not the mean of one function whose guess is known."""
    calls = [call for call in trace.loss.calls if call.step == 0]
    if len(calls) != 1 or not calls[0].sole or calls[0].reduction != "mean" or calls[0].weight != 1:
        return None
    return _of(calls[0])


def _of(call: LossCall) -> float | None:
    if call.function in _CLASSES and call.classes and call.classes > 1 and "float" not in call.target.dtype:
        return log(call.classes)
    if call.function in BINARY:
        return log(2)
    if call.target.std:
        if call.function in _SQUARES:
            return call.target.std**2
        if call.function in _SIZES:
            return 0.8 * call.target.std  # of a normal distribution
    return None


def no_better(trace: Trace, level: float) -> bool:
    """The loss started far above that of a guess, and came down to `level`, which is no better than a guess."""
    drowned = under_a_penalty(trace)
    if drowned is not None:
        return not clearly_below(level, drowned)
    known = chance_loss(trace)
    return known is not None and trace.losses[0] > _FAR_ABOVE * known and not clearly_below(level, known)


def worse_than_chance(trace: Trace, level: float) -> bool:
    """The loss started far above that of a guess, and still is."""
    known = chance_loss(trace)
    return known is not None and trace.losses[0] > _FAR_ABOVE * known and level > _WORSE * known


def under_a_penalty(trace: Trace) -> float | None:
    """The loss function's first value, where a penalty on parameters made the loss many times as large."""
    calls = [call for call in trace.loss.calls if call.step == 0]
    if not trace.numbers.penalties or len(calls) != 1 or not trace.losses:
        return None
    value, weight = calls[0].value, calls[0].weight
    if value is None or weight is None or calls[0].sole or value * weight <= 0:
        return None
    return value * weight if trace.losses[0] > _DROWNED * value * weight else None
