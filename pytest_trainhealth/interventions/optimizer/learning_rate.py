"""Another learning rate: scaled around each optimizer step and restored, so that schedules continue as before."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class LearningRate(Listener):
    def __init__(self, run: Run, stack: ExitStack, factor: float, from_step: int = 0) -> None:
        self._run, self._factor, self._from = run, factor, from_step
        self._before: dict[int, list[Any]] = {}
        if from_step and factor < 1:
            run.trace.applied.smaller_steps_from = from_step

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._run.step < self._from:
            return
        self._before[id(optimizer)] = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * self._factor

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group, lr in zip(optimizer.param_groups, self._before.pop(id(optimizer), []), strict=False):
            group["lr"] = lr
