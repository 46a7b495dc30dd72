"""What is wrong with the losses' inputs, shown by their calls alone: symptoms, whatever the curve does."""

from __future__ import annotations

from .. import wording
from ..records.loss_functions import APPLIES
from ..records.losses import GeneratorRange, LossCall
from ..records.symptoms import SILENT
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import loss_calls


def given_to_adversaries(trace: Trace) -> Symptom | None:
    """Their losses need not fall, so they are judged by the inputs of these losses."""
    unlike = loss_calls.cannot_imitate(trace)
    if unlike is not None:
        return _cannot_imitate(unlike)
    twice = any(map(loss_calls.squashed_twice, trace.loss.calls)) and not trace.applied.to_the_loss
    return _squashed_twice(trace) if twice else None


def _squashed_twice(trace: Trace) -> Symptom:
    call = next(filter(loss_calls.squashed_twice, trace.loss.calls))
    sentence = f"{call.function} is given the output of {call.activation}, and applies {APPLIES[call.function]} itself"
    return Symptom(sentence, SILENT, 2.0, 1.0, "high", sentence)


def _cannot_imitate(unlike: GeneratorRange) -> Symptom:
    sentence = f"{wording.share(unlike.outside)} of the data lie outside the range of {unlike.activation}"
    where = loss_calls.between(unlike.low, unlike.high)
    summary = f"{sentence}: {unlike.layer} is given data {where}, and the output of {unlike.activation}"
    return Symptom(summary, SILENT, unlike.outside, 0.0, "high", sentence)


def below_zero(call: LossCall) -> Symptom:
    value = wording.loss(call.value or 0.0)
    summary = f"{call.function} is {value} at step {call.step}: with valid inputs it is never below 0"
    return Symptom(summary, SILENT, call.value or 0.0, 0.0, "high", f"{call.function} is {value}, below 0")


#: Of each target. More is then said about the wrong classes than about the right one. Usual: 0.05 to 0.2.
MOST_SMOOTHING = 0.5


def smoothed_away(trace: Trace) -> Symptom | None:
    call = next((call for call in trace.loss.calls if call.smoothing > MOST_SMOOTHING), None)
    if call is None or trace.applied.to_the_loss:
        return None
    sentence = f"label smoothing leaves {wording.share(1 - call.smoothing)} of each target to the right class"
    summary = f"{sentence}, and spreads {wording.share(call.smoothing)} over all (0.05 to 0.2 is usual)"
    return Symptom(summary, SILENT, call.smoothing, MOST_SMOOTHING, "high", sentence)


def one_class_left(trace: Trace) -> Symptom | None:
    call = loss_calls.one_class_left(trace)
    if call is None or trace.applied.to_the_loss:
        return None
    sentence = f"{call.function} ignores one of two classes"
    summary = f"{sentence}: all labels that count are {1 - (call.ignored_class or 0)} (expected both, 0 and 1)"
    return Symptom(summary, SILENT, 1.0, 2.0, "high", sentence)


def any_number_of_labels(trace: Trace) -> Symptom | None:
    most = loss_calls.any_number_of_labels(trace)
    if most is None:
        return None
    sentence = f"cross_entropy is given rows of 0 to {most} labels"
    return Symptom(f"{sentence} (expected one each)", SILENT, float(most), 1.0, "high", sentence)
