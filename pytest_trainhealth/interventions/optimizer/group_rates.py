"""Parameter groups with a learning rate of 0 get another one; the others keep theirs."""

from __future__ import annotations

from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class GroupRates(Listener):
    def __init__(self, run: Run, stack: ExitStack, rate: float) -> None:
        self._rate = rate
        self._before: dict[int, list[float]] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._before[id(optimizer)] = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] or self._rate

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group, lr in zip(optimizer.param_groups, self._before.pop(id(optimizer), []), strict=False):
            group["lr"] = lr
