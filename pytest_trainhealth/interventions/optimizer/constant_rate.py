"""The same learning rate at every update; the schedule continues without effect."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class ConstantRate(Listener):
    def __init__(self, run: Run, stack: ExitStack, rate: float, updates: int | None = None) -> None:
        """`updates`: of the run without the cure, where that was longer than runs are."""
        self._rate, run.trace.applied.lasts = rate, updates
        #: The rates that the groups started with: their ratios are kept.
        self._bases: dict[int, list[float]] = {}
        self._before: dict[int, list[Any]] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        groups = optimizer.param_groups
        bases = self._bases.setdefault(id(optimizer), [float(g.get("initial_lr", g["lr"])) for g in groups])
        largest = max(bases) or 1.0
        self._before[id(optimizer)] = [group["lr"] for group in groups]
        for group, base in zip(groups, bases, strict=False):
            group["lr"] = self._rate * ((base / largest) if max(bases) else 1.0)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group, lr in zip(optimizer.param_groups, self._before.pop(id(optimizer), []), strict=False):
            group["lr"] = lr
