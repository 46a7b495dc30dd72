"""How often schedulers are stepped, and whether that, and what they are given, fits their kind."""

from __future__ import annotations

from math import inf
from statistics import mean

from ..records.trace import Trace
from ..records.wiring import OptimizerRecord, SchedulerRecord

#: Counted in epochs by those who use them.
PER_EPOCH = ("StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR")
#: Calls of a scheduler for each update. By judgement: a call may be missing at the start or the end, and once an epoch
#: is far below.
_AT_EVERY_UPDATE = 0.9
#: Updates from one call to the next. By judgement: fewer are no epoch, and many numbers of epochs are multiples of a
#: smaller number.
_AN_EPOCH = 12
#: Epochs in a course, at least, that was counted in batches. By judgement: one-cycle over a single epoch is possible,
#: but then nobody waits for its end to step.
_SEVERAL = 2
#: Of the fed value: it is the loss, or a mean of losses. By judgement: rounding and a mean over unequal batches.
_THE_SAME = 0.02
#: Calls, at least. By judgement: three that all are the loss are no coincidence, and show whether it falls.
_FEWEST_FED = 3
#: Of the first value. By judgement: a fall by 2 % is more than most noise of a mean, and half of what is needed
#: elsewhere.
_FALLS = 0.02


def schedulers_of(trace: Trace, record: OptimizerRecord) -> list[SchedulerRecord]:
    return [s for s in trace.wiring.schedulers if s.optimizer == record.label]


def at_every_update(scheduler: SchedulerRecord, record: OptimizerRecord) -> bool:
    return scheduler.calls >= _AT_EVERY_UPDATE * record.steps


def counts_batches_in_epochs(scheduler: SchedulerRecord) -> bool:
    """Its course has as many steps as several epochs have batches, and it is stepped once an epoch.

    The number of steps has to be a multiple of the updates between two calls (or one more, as some add): a course
    that is meant in epochs has no reason to be.
    """
    steps, total = scheduler.steps, scheduler.total_steps
    if not steps or not total:
        return False
    batches = steps[1] - steps[0] if len(steps) > 1 else steps[0] + 1
    return batches >= _AN_EPOCH and total >= _SEVERAL * batches and total % batches in (0, 1)


def waits_the_wrong_way(trace: Trace, before: float = inf) -> SchedulerRecord | None:
    """ReduceLROnPlateau that waits for a rise (`mode="max"`), and is given a loss that falls: each fall counts as bad.

    What it is given is the loss itself if every value is that of a step, or the mean of several. `before`: only if
    enough calls came earlier than at this step.
    """
    for scheduler in trace.wiring.schedulers:
        calls = sum(1 for step in scheduler.steps if step < before)
        enough = scheduler.mode == "max" and min(calls, len(scheduler.fed)) >= _FEWEST_FED
        if enough and _falls(scheduler.fed) and _is_the_loss(trace, scheduler):
            return scheduler
    return None


def _falls(fed: list[float]) -> bool:
    half = len(fed) // 2
    before, after = mean(fed[:half]), mean(fed[half:])
    return 0 < after < (1 - _FALLS) * before


def _is_the_loss(trace: Trace, scheduler: SchedulerRecord) -> bool:
    before = -1
    for step, value in zip(scheduler.steps, scheduler.fed, strict=False):
        since = trace.losses[before + 1 : step + 1]
        if since and min(abs(value - mean(since)), abs(value - since[-1])) > _THE_SAME * abs(value):
            return False
        before = step
    return True
