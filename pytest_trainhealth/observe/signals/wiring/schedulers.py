"""Which schedulers are stepped, how often, and by which line of the user's code."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch.optim import lr_scheduler

from ....records.wiring import SchedulerRecord
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Classes with their own step(); all others inherit that of the first.
_KINDS: tuple[Any, ...] = tuple(
    kind
    for kind in vars(lr_scheduler).values()
    if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler) and "step" in vars(kind)
)


class Schedulers(Signal):
    """A scheduler that steps others (SequentialLR) counts as one."""

    NAME, COST = "schedulers", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._patched = ExitStack()
        self._inside = False

    def run_begins(self) -> None:
        for kind in _KINDS:
            self._patched.callback(setattr, kind, "step", kind.step)
            kind.step = self._wrapped(kind.step)

    def run_ends(self) -> None:
        self._patched.close()

    def _wrapped(self, original: Callable[..., None]) -> Callable[..., None]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> None:
            if self._inside or getattr(scheduler, "_is_initial", False):  # creating a scheduler calls step(), too
                return original(scheduler, *args, **kwargs)
            self._note(scheduler)
            self._inside = True
            try:
                original(scheduler, *args, **kwargs)
            finally:
                self._inside = False

        return step

    def _note(self, scheduler: Any) -> None:
        run = self._run
        record = next((record for known, record in run.schedulers if known is scheduler), None)
        if record is None:
            optimizer = getattr(scheduler, "optimizer", None)
            label = next((name for name, each in run.optimizers.items() if each is optimizer), "")
            record = SchedulerRecord(type(scheduler).__name__, label, place=user_place())
            run.schedulers.append((scheduler, record))
            run.trace.wiring.schedulers.append(record)
        record.calls += 1
