"""lr-too-low: steps are so small that the loss hardly moves

What happens
    Everything is wired as it should be, and the training goes the right way, at a crawl. A day of it looks like a
    model that cannot learn.

How severe it is
    High: days for what takes hours, or a result that looks like a weak model.

How it is recognised
    Updates are tiny compared with the weights they change (about 1e-3 is usual), or the loss falls in a straight line.
    The re-run multiplies the learning rate by 10, then by 100, and by 1000 where updates are small enough for it.

How to fix it
    Raise the learning rate by the factor that healed the re-run (with a warm-up if that is more than ten times), and
    look for a schedule that has already ended, or a mistyped value (1e-5 for 1e-3).

What not to do
    More epochs: they take as many times longer as the rate is too low. Another optimizer: it gets the same learning
    rate.

How to prevent it
    A range test before the first long run. `overfits_one_batch` has to be passed within its steps.

When this is wrong
    Fine-tuning a good model rightly takes small steps; test a model with random weights instead, or expect less with
    `ratio=`.
"""

from __future__ import annotations

from statistics import median

from .. import wording
from ..analysis import loss_curve, unmoved, wiring
from ..analysis.history_faults import first_fault
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import NO_RATE, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import OptimizerRecord
from . import Suspicion
from ._groups import RATES
from ._in_histories import places
from ._optimizer_source import expression
from ._rate_source import other_rate, rate_places

GROUP = RATES
ORDER = 2
EXPLAINS = (NOT_LEARNING, NO_RATE, PLATEAU)

#: A tenth of what is usual (the 192 healthy programs: 6.5e-4 and more, by median); and what is usual, for a loss that
#: creeps in a straight line.
_SMALL_UPDATE = 1e-4
#: What is usual. By judgement: the least of the healthy programs, 6.5e-4, rounded to a power of 10.
_USUAL_UPDATE = 1e-3
#: No factor is tried that would change the weights by more in one step: that would be too high. By judgement: the same
#: 0.05 as in lr-too-high.
_LARGE_UPDATE = 0.05
#: Where there is none at all. The default of Adam in torch, 1e-3.
_USUAL_RATE = 1e-3
#: A curve shorter than this says nothing about its slope. By judgement: two halves of ten losses.
_CURVE = 20
#: Tried one after the other. By judgement: rates are chosen from powers of 10.
_FACTORS = (10, 100, 1000)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == NO_RATE and unmoved.at_rate_zero(trace) and not wiring.nothing_moves(trace):
        return _group_at_zero(trace)
    optimizer = next((o for o in trace.wiring.optimizers.values() if o.steps), None)
    if optimizer is None or len(trace.losses) < _CURVE:
        return None
    ratios = wiring.update_ratios(trace)
    small = median(ratios) if ratios else 0.0
    straight = loss_curve.is_straight(trace.losses)
    if small >= (_USUAL_UPDATE if straight else _SMALL_UPDATE):
        return None
    return _suspicion(trace, optimizer, small)


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """All rates of the log together could not have moved anything."""
    fault = first_fault(history)
    if fault is None or fault.kind != "tiny rate":
        return None
    return Suspicion(
        statement=fault.headline,
        evidence=fault.evidence,
        why="the steps may be right, but they are tiny",
        places=places(fault),
        fix=Fix("begin with a rate that is usual for the optimizer: about 1e-3 for Adam, 1e-2 and more for SGD"),
        not_this="more epochs: they take as many times longer as the rate is too low",
    )


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Wherever the updates are smaller than usual. Steps of the usual size are not tiny: what ten times as much of them
    gets further with may be learnt by heart, as labels of other samples are."""
    optimizer = next((o for o in trace.wiring.optimizers.values() if o.steps), None)
    ratios = wiring.update_ratios(trace)
    size = median(ratios) if ratios else 0.0
    if optimizer is None or size >= _USUAL_UPDATE:
        return None
    return _suspicion(trace, optimizer, size)


def _suspicion(trace: Trace, optimizer: OptimizerRecord, small: float) -> Suspicion:
    straight = loss_curve.is_straight(trace.losses)
    rate = optimizer.first_lr or 0.0
    evidence = [
        Evidence(f"an update changes its weights by {wording.short(small)} of their size (about 1e-3 is usual)", small)
    ]
    if straight:
        fall = wording.loss(trace.losses[0] - loss_curve.level(trace.losses))
        evidence.append(Evidence(f"the loss falls in a straight line, by {fall} in {trace.steps} steps"))
    evidence.append(Evidence(f"{optimizer.label} has a learning rate of {wording.short(rate)}", rate, optimizer.place))
    return Suspicion(
        statement=f"a learning rate of {wording.short(rate)} is too low for this training",
        evidence=tuple(evidence),
        why="the steps are right, but tiny",
        places=rate_places(optimizer),
        fix=_fix(optimizer, rate * 10 or _USUAL_RATE),
        not_this="more epochs: they take as many times longer as the rate is too low",
        cures=_cures(optimizer, rate, small),
    )


def _group_at_zero(trace: Trace) -> Suspicion:
    """Not a low rate but none, and not for all: the cure is the rate of the others."""
    zero = unmoved.at_rate_zero(trace)
    names, holder = wording.names([p.name for p in zero]), zero[0].held_by[0]
    optimizer = trace.wiring.optimizers[holder]
    rate = max((o.first_lr or 0.0 for o in trace.wiring.optimizers.values()), default=0.0) or _USUAL_RATE
    updates = max(p.lost.count for p in zero if p.lost is not None)
    return Suspicion(
        statement=f"the learning rate of {names} is 0",
        evidence=(
            Evidence(f"{names} had gradients and a rate of 0 at {updates} steps of {holder}", 0.0),
            Evidence(f"other parameters have a rate of {wording.short(rate)} and move", rate),
        ),
        why="their parameter group was made with a rate of 0",
        places=() if optimizer.place is None else (optimizer.place,),
        fix=Fix(f"give their group a rate above 0 (lr={wording.short(rate)} for one), or freeze them:",
                (f"{expression('model', zero[0].module or zero[0].name)}.requires_grad_(False)",)),
        not_this="more epochs: a rate of 0 never moves anything",
        cures=(Cure("group_rates", f"a rate of {wording.short(rate)} for them too", {"rate": rate}),),
    )  # fmt: skip


def _cures(optimizer: OptimizerRecord, rate: float, size: float) -> tuple[Cure, ...]:
    if not rate:  # ten times nothing is nothing
        usual = f"a learning rate of {wording.short(_USUAL_RATE)}"
        return (Cure("constant_rate", usual, {"rate": _USUAL_RATE}, _fix(optimizer, _USUAL_RATE)),)
    factors = _FACTORS if _FACTORS[-1] * size <= _LARGE_UPDATE else _FACTORS[:-1]
    return tuple(
        Cure("learning_rate", f"learning rate x {factor}", {"factor": float(factor)}, _fix(optimizer, rate * factor))
        for factor in factors
    )


def _fix(optimizer: OptimizerRecord, rate: float) -> Fix:
    return other_rate("raise it", optimizer, rate)
