"""Which schedulers are stepped, how often, by which line of the user's code, and what they are given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from torch import Tensor
from torch.optim import lr_scheduler

from ....records.wiring import SchedulerRecord
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.engine_frames import stand_in
from ...source.places import user_place

#: Classes with their own step(); all others inherit that of the first.
_KINDS: tuple[Any, ...] = tuple(
    kind
    for kind in vars(lr_scheduler).values()
    if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler) and "step" in vars(kind)
)
#: Calls of which step and metric are kept. By judgement: 256 show whether a metric rises or falls.
_MOST_CALLS = 256


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
        @stand_in
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> None:
            if self._inside or getattr(scheduler, "_is_initial", False):  # creating a scheduler calls step(), too
                return original(scheduler, *args, **kwargs)
            self._note(scheduler, args[0] if args else kwargs.get("metrics"))
            self._inside = True
            try:
                original(scheduler, *args, **kwargs)
            finally:
                self._inside = False

        return step

    def _note(self, scheduler: Any, given: Any) -> None:
        run = self._run
        record = next((record for known, record in run.schedulers if known is scheduler), None)
        if record is None:
            optimizer = getattr(scheduler, "optimizer", None)
            label = next((name for name, each in run.optimizers.items() if each is optimizer), "")
            record = SchedulerRecord(type(scheduler).__name__, label, place=user_place(), **_settings(scheduler))
            run.schedulers.append((scheduler, record))
            run.trace.wiring.schedulers.append(record)
        record.calls += 1
        if len(record.steps) < _MOST_CALLS:
            record.steps.append(run.step)
        if record.mode and len(record.fed) < _MOST_CALLS:
            with suppress(TypeError, ValueError):
                record.fed.append(float(given.detach() if isinstance(given, Tensor) else given))


def _settings(scheduler: Any) -> dict[str, Any]:
    """What its kind says about its course, as far as torch's own kinds do."""
    found: dict[str, Any] = {}
    if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
        found = {"mode": str(scheduler.mode), "patience": int(scheduler.patience)}
    elif isinstance(scheduler, lr_scheduler.OneCycleLR):
        highest = max(float(group["max_lr"]) for group in scheduler.optimizer.param_groups)
        found = {"peak": highest, "total_steps": int(scheduler.total_steps)}
    elif isinstance(scheduler, lr_scheduler.CyclicLR):
        found = {"peak": max(map(float, scheduler.max_lrs))}
    return found
