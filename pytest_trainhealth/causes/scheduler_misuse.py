"""scheduler-misuse: the scheduler takes the learning rate to 0, or somewhere nobody intended

What happens
    A schedule counts its own steps. One that was meant for epochs and is stepped after every batch has run its whole
    course within the first seconds: the learning rate is gone, or goes up and down all the time. Two schedulers on one
    optimizer multiply, a factor above 1 grows without end, and a warm-up by integer division is 0.

How it is recognised
    By the learning rate of every update, and by how often `step()` is called on each scheduler, and where. The re-run
    keeps the learning rate constant, at the value that the optimizer was made with.

How to fix it
    Step the scheduler where its unit ends: once per epoch for StepLR(step_size=10), once per batch when its numbers
    count batches. `Training(scheduler=...)` steps it after every batch; for a schedule in epochs leave it out.

What not to do
    A higher initial learning rate, or more epochs: the schedule still ends where it ends.

When this is wrong
    A schedule meant for a run as short as this test has done its work. Then the loss should be low by the end of it.
"""

from __future__ import annotations

from .. import wording
from ..analysis import learning_rates
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NO_RATE, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from ..records.wiring import SchedulerRecord
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 17
EXPLAINS = (NOT_LEARNING, NO_RATE, PLATEAU, INSTABILITY, EXPLOSION)
#: Calls of a scheduler for each update. By judgement: a call may be missing at the start or the end, and once an epoch
#: is far below.
_AT_EVERY_UPDATE = 0.9
#: More calls are shown as a number. By judgement: it only affects the wording.
_MORE_THAN_ONCE = 1.1


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    course = learning_rates.odd_course(trace)
    if course is None:
        return None
    record = course.optimizer
    schedulers = learning_rates.schedulers_of(trace, record)
    often = [s for s in schedulers if s.calls >= _AT_EVERY_UPDATE * record.steps]
    per_epoch = next((s for s in often if s.kind in learning_rates.PER_EPOCH), None)
    if course.kind in ("gone", "bounces") and per_epoch is None and len(schedulers) < 2:
        return None  # a decay that ends early: another cause's
    culprit = per_epoch or next(iter(schedulers), None)
    name = culprit.kind if culprit is not None else "the scheduler"
    updates = wording.plural(len(record.rates), "update")
    what = {
        "zero": f"{name} sets the learning rate of {record.label} to 0",
        "runaway": f"{name} raises the learning rate of {record.label} without end",
        "gone": f"{name} is stepped every batch, and the rate is almost 0 after {course.at} updates",
        "bounces": f"{name} is stepped every batch, and the learning rate goes up and down",
    }[course.kind]
    if per_epoch is None and len(schedulers) > 1:
        kinds = wording.names([s.kind for s in schedulers])
        what = f"{kinds} both act on {record.label}, and the rate is almost 0 after {course.at} updates"
    evidence = [
        Evidence(
            f"the learning rate goes from {wording.short(record.rates[0])} to {wording.short(record.rates[-1])} in "
            f"{updates}" + (f" (made with {wording.short(record.initial_lr)})" if record.initial_lr else ""),
            record.rates[-1],
        )
    ]
    if course.kind == "bounces":
        evidence = [Evidence(f"it falls below a tenth and comes back {course.at} times in {updates}", course.at)]
    evidence += [Evidence(f"{s.kind}.step() is called {_how_often(s, record.steps)}", s.calls) for s in schedulers]
    fix = _fix(culprit, course.kind)
    return Suspicion(
        statement=what,
        evidence=tuple(evidence),
        why="a schedule counts its own steps, and these are not the intended ones",
        places=_places(culprit),
        fix=fix,
        not_this="a higher initial learning rate, or more epochs",
        cures=(Cure("constant_rate", "constant learning rate", {"rate": course.rate}),),
    )


def _how_often(scheduler: SchedulerRecord, updates: int) -> str:
    if scheduler.calls >= _AT_EVERY_UPDATE * updates:
        once = scheduler.calls < _MORE_THAN_ONCE * updates
        return "at every update" if once else f"{scheduler.calls / updates:.2g} times an update"
    return wording.plural(scheduler.calls, "time") + f" in {wording.plural(updates, 'update')}"


def _places(scheduler: SchedulerRecord | None) -> tuple[Place, ...]:
    found = () if scheduler is None else (scheduler.place, scheduler.made_at)
    return tuple(dict.fromkeys(place for place in found if place is not None))


def _fix(scheduler: SchedulerRecord | None, kind: str) -> Fix:
    if kind == "zero":
        return Fix("give it a factor above 0 (a warm-up needs a true division, and may start at 1):",
                   ("LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))",))  # fmt: skip
    if kind == "runaway":
        return Fix("give it a factor below 1", ())
    if scheduler is not None and scheduler.kind in learning_rates.PER_EPOCH:
        return Fix("step it once per epoch, or count its settings in batches", ())
    return Fix("keep one scheduler, or put them one after the other:", ("SequentialLR(optimizer, [...], [...])",))
