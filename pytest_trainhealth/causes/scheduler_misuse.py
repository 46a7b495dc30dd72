"""scheduler-misuse: the scheduler takes the learning rate to 0, or somewhere nobody intended

What happens
    A schedule counts its own steps. One that was meant for epochs and is stepped after every batch has run its whole
    course within the first seconds: the learning rate is gone, or goes up and down all the time. One that counts
    batches and is stepped after every epoch never leaves its warm-up. A formula such as `(1 - step / total) ** 2` that
    is not told where to end grows beyond it without end, or goes below 0. Two schedulers on one optimizer multiply, a
    factor above 1 grows without end, a function that returns a rate where a factor is wanted leaves almost nothing, a
    warm-up by integer division is 0, and ReduceLROnPlateau with `mode="max"` takes every fall of a loss for a failure.

How severe it is
    High: the rate is gone, or never rises, long before the data are used up.

How it is recognised
    By the learning rate of every update, by how often `step()` is called on each scheduler, and where, and by what
    ReduceLROnPlateau is given. The re-run keeps the learning rate constant: at the value that the optimizer was made
    with, or at the peak that the schedule does not reach.

How to fix it
    Step the scheduler where its unit ends: once per epoch for StepLR(step_size=10), once per batch for OneCycleLR and
    whenever its numbers count batches. The function of LambdaLR returns a factor, not a rate. A loss goes with
    `mode="min"`. `Training(scheduler=..., scheduler_every="epoch")` or `"batch"` says what a schedule counts.

What not to do
    A higher initial learning rate, or more epochs: the schedule still ends where it ends.

How to prevent it
    Say in the name what counts (`steps_per_epoch`, `total_steps`), compute it from the loader, and plot the rate before
    the first run. `learns_from_data` reads the rate at each step.

When this is wrong
    A schedule meant for a run as short as this test has done its work. Then the loss should be low by the end of it.
"""

from __future__ import annotations

from .. import wording
from ..analysis import learning_rates, schedules
from ..analysis.history_faults import first_fault
from ..analysis.learning_rates import Course
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NO_RATE, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from ..records.wiring import OptimizerRecord, SchedulerRecord
from . import Suspicion
from ._groups import WIRING
from ._in_histories import places, rate_course, rate_evidence

GROUP = WIRING
ORDER = 17
EXPLAINS = (NOT_LEARNING, NO_RATE, PLATEAU, INSTABILITY, EXPLOSION, SILENT)
#: More calls are shown as a number. By judgement: it only affects the wording.
_MORE_THAN_ONCE = 1.1
#: Of the peak that a schedule does not reach. By judgement: a rate that is right at the top of a cycle, after a
#: warm-up, may be too high from the start.
_OF_THE_PEAK = 0.3


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    upside_down = schedules.waits_the_wrong_way(trace)
    if upside_down is not None:
        return _wrong_mode(upside_down, trace, symptom)
    course = None if symptom.category == SILENT else learning_rates.odd_course(trace)
    return None if course is None else _odd(course, trace)


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """The rate in the log is 0 throughout; or it grows without end or never leaves its warm-up in a sick run."""
    fault, found = first_fault(history), rate_course(history)
    if fault is None or found is None or found.kind not in ("zero", "runaway", "warm-up"):
        return None
    if found.kind == "warm-up" and fault.kind not in ("still", "chance", "tiny rate", "endless warm-up"):
        return None
    name, values = found.series.name, found.series.values
    statement, fix = {
        "zero": (f"{name} is 0 for the whole run", "give it a rate, or a factor, above 0"),
        "runaway": (f"{name} grows to {wording.short(values[-1])} without end", "give it a factor below 1"),
        "warm-up": (f"{name} still warms up at the end of the run", "step it after every batch, or let it end sooner"),
    }[found.kind]
    evidence = [*([] if fault.kind == "endless warm-up" else [rate_evidence(history, found)])]
    evidence += fault.evidence if fault.kind != "no rate" else ()
    return Suspicion(
        statement=statement,
        evidence=tuple(evidence),
        certainty="likely" if found.kind != "warm-up" or fault.kind == "endless warm-up" else "possible",
        why="a schedule counts its own steps, and these are not the intended ones" if found.kind != "zero" else "",
        places=places(fault),
        fix=Fix(fix),
        not_this="a higher initial learning rate, or more epochs",
    )


def _odd(course: Course, trace: Trace) -> Suspicion | None:
    record = course.optimizer
    schedulers = schedules.schedulers_of(trace, record)
    often = [s for s in schedulers if schedules.at_every_update(s, record)]
    per_epoch = next((s for s in often if s.kind in schedules.PER_EPOCH), None)
    if course.kind in ("gone", "bounces") and per_epoch is None and len(schedulers) < 2:
        return None  # a decay that ends early: another cause's
    culprit = per_epoch or next(iter(schedulers), None)
    evidence = [
        Evidence(
            f"the learning rate goes from {wording.short(record.rates[0])} to {wording.short(record.rates[-1])} in "
            f"{wording.plural(len(record.rates), 'update')}"
            + (f" (made with {wording.short(record.initial_lr)})" if record.initial_lr else ""),
            record.rates[-1],
        )
    ]
    if course.kind == "past its end":
        lowest = wording.short(record.rates[course.at])
        there = f"it is {lowest} at update {course.at}, and goes on from there with every update"
        evidence.append(Evidence(there, record.rates[course.at]))
    if course.kind == "bounces":
        updates = wording.plural(len(record.rates), "update")
        evidence = [Evidence(f"it falls below a tenth and comes back {course.at} times in {updates}", course.at)]
    evidence += [Evidence(f"{s.kind}.step() is called {_how_often(s, record)}", s.calls) for s in schedulers]
    if culprit is not None and culprit.peak and culprit.total_steps and course.kind == "low":
        evidence.append(
            Evidence(
                f"its course has {culprit.total_steps} steps, and its peak is {wording.short(culprit.peak)}",
                float(culprit.total_steps),
            )
        )
    return Suspicion(
        statement=_statement(course, culprit, schedulers, per_epoch is None),
        evidence=tuple(evidence),
        why="a schedule counts its own steps, and these are not the intended ones"
        if course.kind != "low" or culprit is None or culprit.peak
        else "what its function returns is multiplied with the learning rate of the optimizer",
        places=_places(culprit)[:: -1 if culprit is not None and culprit.peak else 1],
        fix=_fix(culprit, course),
        not_this="a higher initial learning rate, or more epochs",
        cures=_cures(course, culprit),
    )


def _statement(course: Course, culprit: SchedulerRecord | None, schedulers: list[SchedulerRecord], alone: bool) -> str:
    record = course.optimizer
    name = culprit.kind if culprit is not None else "the scheduler"
    if alone and len(schedulers) > 1:
        kinds = wording.names([s.kind for s in schedulers])
        return f"{kinds} both act on {record.label}, and the rate is almost 0 after {course.at} updates"
    if course.kind == "low":
        if culprit is not None and culprit.peak:
            return f"{name} counts batches but is stepped once per epoch, and stays at the start of its course"
        share = wording.short(record.rates[0] / course.rate)
        return f"{name} multiplies the learning rate of {wording.short(course.rate)} by {share}"
    return {
        "zero": f"{name} sets the learning rate of {record.label} to 0",
        "runaway": f"{name} raises the learning rate of {record.label} without end",
        "past its end": f"{name} goes on past its end, and takes the learning rate of {record.label} "
        + ("below 0" if min(record.rates) < 0 else "up again without end"),
        "gone": f"{name} is stepped every batch, and the rate is almost 0 after {course.at} updates",
        "bounces": f"{name} is stepped every batch, and the learning rate goes up and down",
    }[course.kind]


def _cures(course: Course, culprit: SchedulerRecord | None) -> tuple[Cure, ...]:
    if course.kind == "low" and culprit is not None and culprit.peak:
        part = _OF_THE_PEAK * course.rate
        return (
            Cure("constant_rate", f"constant learning rate of {wording.short(part)}", {"rate": part}),
            Cure("constant_rate", f"constant learning rate of {wording.short(course.rate)}", {"rate": course.rate}),
        )
    return (Cure("constant_rate", "constant learning rate", {"rate": course.rate}),)


def _wrong_mode(scheduler: SchedulerRecord, trace: Trace, symptom: Symptom) -> Suspicion:
    record = trace.wiring.optimizers.get(scheduler.optimizer)
    # whatever the rate is, it still waits the wrong way
    rate = None if record is None or symptom.category == SILENT else max(record.rates, default=None)
    fed = scheduler.fed
    return Suspicion(
        statement='ReduceLROnPlateau(mode="max") is given the loss, and takes every fall for a failure',
        evidence=(
            Evidence(
                f"it is given the loss, {wording.loss(fed[0])} at its first call and {wording.loss(fed[-1])} at call "
                f"{len(fed)}: falling, which is bad in its eyes",
                fed[-1],
                scheduler.place,
            ),
            Evidence(f"it cuts the learning rate after {wording.plural((scheduler.patience or 0) + 1, 'such call')}"),
        ),
        why="a loss is to fall; only what is to rise, such as an accuracy, goes with this mode",
        places=_places(scheduler),
        fix=Fix("wait for a loss to fall:", ('ReduceLROnPlateau(optimizer, mode="min")',)),
        not_this="more patience: the rate is cut all the same, only later",
        cures=() if not rate else (Cure("constant_rate", "constant learning rate", {"rate": rate}),),
    )


def _how_often(scheduler: SchedulerRecord, record: OptimizerRecord) -> str:
    updates = record.steps
    if schedules.at_every_update(scheduler, record):
        once = scheduler.calls < _MORE_THAN_ONCE * updates
        return "at every update" if once else f"{scheduler.calls / updates:.2g} times an update"
    return wording.plural(scheduler.calls, "time") + f" in {wording.plural(updates, 'update')}"


def _places(scheduler: SchedulerRecord | None) -> tuple[Place, ...]:
    found = () if scheduler is None else (scheduler.place, scheduler.made_at)
    return tuple(dict.fromkeys(place for place in found if place is not None))


def _fix(scheduler: SchedulerRecord | None, course: Course) -> Fix:
    if course.kind == "zero":
        return Fix("give it a factor above 0 (a warm-up needs a true division, and may start at 1):",
                   ("LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))",))  # fmt: skip
    if course.kind == "past its end":
        return Fix("count its length in what it is stepped by (updates, not epochs), and let it end there:",
                   ("progress = min(step / total_steps, 1.0)",))  # fmt: skip
    if course.kind == "runaway":
        return Fix("give it a factor below 1", ())
    if course.kind == "low" and scheduler is not None and scheduler.peak:
        return Fix("step it after every batch:", ("optimizer.step()", "scheduler.step()"))
    if course.kind == "low":
        return Fix("return a factor, which is 1 where the learning rate is to be the optimizer's:",
                   ("LambdaLR(optimizer, lambda step: 1 / (1 + 0.05 * step))",))  # fmt: skip
    if scheduler is not None and scheduler.kind in schedules.PER_EPOCH:
        ours = () if scheduler.place is not None else ('Training(..., scheduler_every="epoch")',)
        return Fix(f"step it once per epoch, or count its settings in batches{':' * bool(ours)}", ours)
    return Fix("keep one scheduler, or put them one after the other:", ("SequentialLR(optimizer, [...], [...])",))
