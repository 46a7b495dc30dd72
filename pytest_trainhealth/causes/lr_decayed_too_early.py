"""lr-decayed-too-early: the learning rate is gone while there was still something to learn

What happens
    A linear, cosine or polynomial decay runs over fewer steps than the training takes, ReduceLROnPlateau loses
    patience at the first noise, or a factor that is meant for the rate of the beginning is multiplied with that of the
    step before, and compounds. From then on every step goes the right way and none does anything.

How severe it is
    Low to high: the rest of the run is paid for and does nothing.

How it is recognised
    The learning rate is below 2 % of its peak for the last third of the run or more, and the loss has stopped above
    where it could be. The re-run keeps the learning rate at its peak.

How to fix it
    Let the schedule run over all steps of the training (`T_max`, `total_iters`, `total_steps`), leave it a floor
    (`eta_min`, `min_lr`), or give ReduceLROnPlateau more `patience`.

What not to do
    More epochs: at this learning rate they change nothing. A larger model: it would stop there as well.

How to prevent it
    Compute the length of a schedule from the length of the run, and plot the rate first. `learns_from_data` and
    `history_is_healthy` read it.

When this is wrong
    The schedule is meant for a run as short as this test, and the loss is where it should be.
"""

from __future__ import annotations

from typing import Any

from .. import wording
from ..analysis import learning_rates, loss_curve, rate_ends, schedules
from ..analysis.history_faults import first_fault
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from ..records.wiring import OptimizerRecord, SchedulerRecord
from . import Suspicion
from ._groups import RATES, Stage
from ._in_histories import places

GROUP = RATES
#: The course of the rate is on record, no guess: every check may name it, and it is tried before the rates.
STAGE = Stage.NUMBERS
ORDER = 19
#: Also a loss that seems to grow: where batches differ, one without any learning goes up and down with them.
EXPLAINS = (PLATEAU, NOT_LEARNING, INSTABILITY)

_FIXES = {
    "ReduceLROnPlateau": Fix(
        "give it patience, and step it once per epoch with the mean loss:",
        ("ReduceLROnPlateau(optimizer, patience=10, min_lr=...)",),
    ),
    "StepLR": Fix("let more epochs pass between two drops (step_size), or take a gamma closer to 1", ()),
    "MultiStepLR": Fix("move the milestones to where the loss has stopped falling", ()),
    "ExponentialLR": Fix("take a gamma closer to 1", ()),
    "CosineAnnealingWarmRestarts": Fix("let its first cycle last longer (T_0), or leave a floor (eta_min)", ()),
    "CosineAnnealingLR": Fix("let it run over all steps:", ("CosineAnnealingLR(optimizer, T_max=steps)",)),
    "LinearLR": Fix("let it run over all steps:", ("LinearLR(optimizer, 1.0, 0.0, total_iters=steps)",)),
    "PolynomialLR": Fix("let it run over all steps:", ("PolynomialLR(optimizer, total_iters=steps)",)),
    "OneCycleLR": Fix("let it run over all steps:", ("OneCycleLR(optimizer, max_lr=..., total_steps=steps)",)),
}
_COMPOUNDED = Fix("compute it from the rate of the beginning:", ('group["lr"] = base * factor(step)',))


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    course = learning_rates.odd_course(trace)
    if course is None or course.kind != "gone":
        return None
    record = course.optimizer
    schedulers = schedules.schedulers_of(trace, record)
    culprit = schedulers[0] if len(schedulers) == 1 else None
    if len(schedulers) > 1 or (culprit is not None and _at_the_wrong_time(culprit, record)):
        return None  # stepped at the wrong time, or twice: another cause's
    updates, peak = len(record.rates), max(record.rates)
    share = wording.short(record.rates[-1])
    evidence = [
        Evidence(
            f"the learning rate is {wording.short(peak)} at its peak, below 2 % of that from update {course.at} on, "
            f"and {share} at update {updates}",
            float(course.at),
            None if culprit is None else culprit.place,
        )
    ]
    if 0 < course.at < len(trace.losses):
        there, end = trace.losses[course.at], loss_curve.level(trace.losses)
        evidence.append(Evidence(f"the loss is {wording.loss(there)} there and {wording.loss(end)} at the end", there))
    if culprit is not None and culprit.kind == "ReduceLROnPlateau":
        how = "for every batch" if schedules.at_every_update(culprit, record) else f"{culprit.calls} times"
        waits = wording.plural(culprit.patience or 0, "call")
        evidence.append(Evidence(f"it is given a loss {how}, and waits {waits} for a better one (patience)"))
    compounded = rate_ends.compounds(record.rates)
    if compounded:
        what = "each time the rate is multiplied by less than the time before, and so it falls faster than any schedule"
        evidence.append(Evidence(what))
    by = culprit.kind if culprit is not None else "the training"
    return Suspicion(
        statement=f"{by} cuts the learning rate to almost 0 by update {course.at} of {updates}",
        evidence=tuple(evidence),
        why="what is meant for the rate of the beginning is multiplied with the rate of the step before: it compounds"
        if compounded
        else "from then on the steps are too small to change anything",
        places=_places(culprit),
        fix=_COMPOUNDED if compounded else _fix(culprit),
        not_this="more epochs: at this learning rate they change nothing",
        cures=(Cure("constant_rate", "constant learning rate", _kept_up(course, updates, compounded)),),
    )


def _kept_up(course: learning_rates.Course, updates: int, compounded: bool) -> dict[str, Any]:
    """A run that was looked at for longer is compared with one that is as long."""
    return {"rate": course.rate, **({"updates": updates} if compounded else {})}


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    fault = first_fault(history)
    if fault is None or fault.kind != "rate gone":
        return None
    return Suspicion(
        statement=fault.headline,
        evidence=fault.evidence,
        why="from then on the steps are too small to change anything",
        places=places(fault),
        fix=_fix(None),
        not_this="more epochs: at this learning rate they change nothing",
    )


def _places(scheduler: SchedulerRecord | None) -> tuple[Place, ...]:
    found = () if scheduler is None else (scheduler.place, scheduler.made_at)
    return tuple(place for place in found if place is not None)


def _at_the_wrong_time(scheduler: SchedulerRecord, record: OptimizerRecord) -> bool:
    return scheduler.kind in schedules.PER_EPOCH and schedules.at_every_update(scheduler, record)


def _fix(scheduler: SchedulerRecord | None) -> Fix:
    plain = Fix("let the decay run over all steps of the training, or leave the learning rate a floor", ())
    return plain if scheduler is None else _FIXES.get(scheduler.kind, plain)
