"""lr-too-high: steps are so large that the loss cannot settle

What happens
    Each step jumps over the valley. The loss oscillates or grows, units die, and with bad luck everything ends in NaN.

How severe it is
    Critical where it diverges, high where it hovers.

How it is recognised
    Wiring and data are in order, the gradients at the first step are of a sane size, and updates are large compared
    with the weights they change (about 1e-3 is usual), or the loss rises after the first steps. A loss that falls until
    it is NaN does not count: it has to rise or to jump first. The re-run divides the learning rate by 10, then by 100.

How to fix it
    Lower the learning rate by the factor that healed the re-run, and warm it up over the first 5 to 10 % of the steps.

What not to do
    Another optimizer, or clipping as a cure: both only change how large "too large" is.

How to prevent it
    A range test before the first long run, warm-up, and a rate that is scaled with the batch. `learns_from_data` tries
    a tenth of it beside yours.

When this is wrong
    Half of all faults get a little better with some other learning rate. That is why this is considered last, and
    reported only when nothing in the structure fits.
"""

from __future__ import annotations

import math
from statistics import median

from .. import wording
from ..analysis import loss_curve, wiring
from ..analysis.history_faults import first_fault
from ..analysis.history_roles import Roles
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Certainty, Evidence, Fix, Symptom
from ..records.wiring import OptimizerRecord
from . import Suspicion
from ._groups import RATES
from ._in_histories import places, rate_at, rate_course, rate_evidence
from ._rate_source import other_rate, rate_places

GROUP = RATES
ORDER = 1
EXPLAINS = (INSTABILITY, EXPLOSION, PLATEAU, NOT_LEARNING)

#: An update of a twentieth of the weights in one step, by median. Beside a loss that does not settle only: of the 192
#: healthy programs LBFGS has up to 0.68, small transformers at a high rate up to 0.2.
_LARGE_UPDATE = 0.05
#: Steps this small jump over nothing: what goes up and down then are the batches. By judgement: the same as in
#: lr-too-low, where healthy programs have 6.5e-4 and more.
_TINY_UPDATE = 1e-4
#: A curve shorter than this says nothing about its shape, unless it ends in NaN. By judgement: two halves of ten
#: losses.
_CURVE = 20
#: Of the first loss: how far a curve rose above it. On one batch rates too high have 10 and more; of 299 healthy
#: programs the first two have 0.97 and 0.53, the others at most 0.41.
_GREW = 0.5
#: Tried one after the other. By judgement: rates are chosen from powers of 10.
_DIVISORS = (10, 100, 1000)
#: Finite losses, at most, of a run that broke before its curve could show anything. By judgement: with three of them, a
#: first step that jumps over everything is seen as a rise.
_TOO_SHORT = 3
#: Of its peak in a log: where a rate is while it is as high as it gets. By judgement.
_NEAR_PEAK = 0.5
#: By judgement, for the reader: 900 % is still a percentage, beyond that it is "times their size".
_TOLD_IN_PERCENT = 10


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    optimizer = next((o for o in trace.wiring.optimizers.values() if o.steps), None)
    if optimizer is None or len(trace.losses) < (2 if symptom.category == EXPLOSION else _CURVE):
        return None
    ratios = wiring.update_ratios(trace)
    large = median(ratios) if ratios else 0.0
    if ratios and large < _TINY_UPDATE:
        return None
    first, worst = trace.losses[0], max((x for x in trace.losses if x == x), default=trace.losses[0])
    grew = worst > first + _GREW * abs(first)
    unsettled = grew or loss_curve.oscillates(trace.losses)
    if large < _LARGE_UPDATE and not unsettled:
        return None
    if symptom.category == EXPLOSION and not unsettled and _finite(trace) > _TOO_SHORT:
        return None  # it fell until it broke: steps of that size were no trouble
    return _suspicion(trace, optimizer)


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Whatever the size of the updates."""
    optimizer = next((o for o in trace.wiring.optimizers.values() if o.steps), None)
    return None if optimizer is None or not optimizer.first_lr else _suspicion(trace, optimizer)


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """The loss went up, or up and down, at a rate near its peak. By the curve alone it is a guess."""
    fault = first_fault(history)
    if fault is None or fault.kind not in ("nonfinite", "diverged", "growing swings", "swings together"):
        return None
    if fault.kind == "nonfinite" and not _rose_before(history):
        return None
    found = rate_course(history)
    certainty: Certainty = "possible"
    evidence, why = fault.evidence, ""
    if found is not None and found.kind != "zero":
        value = rate_at(found, fault.step)
        certainty = "likely" if value > _NEAR_PEAK * max(found.series.values) else "possible"
        evidence = (*fault.evidence, rate_evidence(history, found))
        why = f"at a learning rate of {wording.short(value)}, each step jumps over the valley it aims for"
    return Suspicion(
        statement=f"{fault.headline}, as with a learning rate that is too high",
        evidence=evidence,
        certainty=certainty,
        why=why,
        places=places(fault),
        fix=Fix("lower it by 10, and warm it up over the first 5 to 10 % of the steps"),
        not_this="another optimizer or more epochs",
    )


def _rose_before(history: History) -> bool:
    """A loss that falls until it is NaN does not count: it has to rise or to jump first."""
    loss = Roles(history).loss
    if loss is None or not len(loss):
        return False
    last = loss.values[-1]
    return last - min(loss.values) > _GREW * max(loss.values[0] - min(loss.values), abs(min(loss.values)))


def _suspicion(trace: Trace, optimizer: OptimizerRecord) -> Suspicion:
    ratios = wiring.update_ratios(trace)
    large = median(ratios) if ratios else 0.0
    first, worst = trace.losses[0], max((x for x in trace.losses if x == x), default=trace.losses[0])
    grew = worst > first + _GREW * abs(first)
    evidence = []
    if large >= _LARGE_UPDATE:
        evidence.append(
            Evidence(f"an update changes its weights by {_size(large)} in one step (about 0.1 % is usual)", large)
        )
    if grew:
        evidence.append(Evidence(f"the loss rises from {wording.loss(first)} to {wording.loss(worst)}", worst))
    if loss_curve.oscillates(trace.losses):
        evidence.append(
            Evidence(f"the loss jumps up and down by {wording.loss(loss_curve.spread(trace.losses))} a step")
        )
    rate = optimizer.first_lr or 0.0
    evidence.append(Evidence(f"{optimizer.label} has a learning rate of {wording.short(rate)}", rate, optimizer.place))
    return Suspicion(
        statement=f"a learning rate of {wording.short(rate)} is too high for this training",
        evidence=tuple(evidence),
        why="each step jumps over the valley it aims for",
        places=rate_places(optimizer),
        fix=_fix(optimizer, rate / 10),
        not_this="another optimizer or more epochs",
        cures=tuple(
            Cure("learning_rate", f"learning rate / {by}", {"factor": 1 / by}, _fix(optimizer, rate / by))
            for by in _DIVISORS
        ),
    )


def _finite(trace: Trace) -> int:
    return sum(1 for loss in trace.losses if math.isfinite(loss))


def _fix(optimizer: OptimizerRecord, rate: float) -> Fix:
    return other_rate("lower it, and warm it up over the first steps", optimizer, rate)


def _size(share: float) -> str:
    return wording.share(share) if share < _TOLD_IN_PERCENT else f"{wording.short(share)} times their size"
