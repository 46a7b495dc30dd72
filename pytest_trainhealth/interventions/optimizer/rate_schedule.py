"""The learning rate rises over the first steps, or falls along a cosine, on top of whatever it does by itself."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run

#: Of the rate, at the end of a decay. By judgement: a tenth still learns, and a run that is stopped is not at a halt.
_LAST = 0.1


class RateSchedule(Listener):
    """`warm_up`, `decay`: steps that the rise and the fall take; 0 for none."""

    def __init__(self, run: Run, stack: ExitStack, warm_up: int = 0, decay: int = 0) -> None:
        self._run, self._warm_up, self._decay = run, warm_up, decay
        self._before: dict[int, list[Any]] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._before[id(optimizer)] = [group["lr"] for group in optimizer.param_groups]
        factor = self._factor(self._run.step)
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * factor

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group, lr in zip(optimizer.param_groups, self._before.pop(id(optimizer), []), strict=False):
            group["lr"] = lr

    def _factor(self, step: int) -> float:
        rising = min(1.0, (step + 1) / self._warm_up) if self._warm_up else 1.0
        way = min(1.0, step / self._decay) if self._decay else 0.0
        return rising * (_LAST + (1 - _LAST) * (1 + math.cos(math.pi * way)) / 2)
