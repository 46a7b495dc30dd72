"""When the schedulers of a `Training` are stepped: after every batch, or after every epoch.

Torch's schedulers do not say what they count. Stepped too often, a schedule for epochs has run its course within the
first seconds, and a healthy training looks sick; stepped too rarely, a warm-up does not end. So the default goes by
kind and by how a schedule begins, and `scheduler_every` decides otherwise.
"""

from __future__ import annotations

from typing import Any, Literal

from torch.optim.lr_scheduler import ReduceLROnPlateau

from ...training import Training, is_one_batch

#: Their documentation says that they are stepped after every batch.
_PER_BATCH = ("OneCycleLR", "CyclicLR")
#: Steps. By judgement: a test hands in a few batches of a data set whose epochs are far longer.
_SHORTEST_EPOCH = 10


class SchedulerSteps:
    """Steps the schedulers of one run."""

    def __init__(self, training: Training) -> None:
        #: Steps of an epoch; None where nothing says how long one is. In a run on one batch as in one on all.
        self._epoch = _epoch_length(training.data)
        built_in = training.schedulers if training.step is None else []
        paces = [(each, training.scheduler_every or usual_pace(each)) for each in built_in]
        self._each_batch = [scheduler for scheduler, pace in paces if pace == "batch"]
        self._each_epoch = [scheduler for scheduler, pace in paces if pace == "epoch"]
        self._losses: list[float] = []

    def step_taken(self, loss: float) -> None:
        """After each step, with its loss."""
        for scheduler in self._each_batch:
            _step(scheduler, loss)
        if not self._each_epoch or self._epoch is None:
            return
        self._losses.append(loss)
        if len(self._losses) >= self._epoch:
            mean = sum(self._losses) / len(self._losses)
            for scheduler in self._each_epoch:
                _step(scheduler, mean)
            self._losses.clear()


def usual_pace(scheduler: Any) -> Literal["epoch", "batch"]:
    """How often a scheduler of this kind is stepped by those who use it."""
    kind = type(scheduler)
    if not kind.__module__.startswith("torch.") or kind.__name__ in _PER_BATCH:
        return "batch"
    parts = getattr(scheduler, "_schedulers", ())
    if any(usual_pace(part) == "batch" for part in parts):
        return "batch"
    return "batch" if _warms_up(scheduler) else "epoch"


def _warms_up(scheduler: Any) -> bool:
    """It begins below the learning rate that the optimizer was made with."""
    groups = getattr(getattr(scheduler, "optimizer", None), "param_groups", ())
    return any(float(group["lr"]) < float(group.get("initial_lr", group["lr"])) for group in groups)


def _epoch_length(data: Any) -> int | None:
    if is_one_batch(data):
        return None
    try:
        count = len(data)
    except TypeError:  # an iterable data set
        return None
    return max(count, _SHORTEST_EPOCH) if count > 1 else None


def _step(scheduler: Any, loss: float) -> None:
    if not isinstance(scheduler, ReduceLROnPlateau):
        scheduler.step()
    else:  # one that waits for something to rise (an accuracy) is given what rises while the loss falls
        scheduler.step(-loss if scheduler.mode == "max" else loss)
