"""Other momentum, betas or eps, for each optimizer step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class OptimizerSettings(Listener):
    """Restored after each step, because a scheduler (OneCycleLR) may continue from the values it finds."""

    def __init__(self, run: Run, stack: ExitStack, values: dict[str, Any]) -> None:
        self._values = values
        self._before: dict[int, list[dict[str, Any]]] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._before[id(optimizer)] = []
        for group in optimizer.param_groups:
            known = {name: value for name, value in self._values.items() if name in group}
            self._before[id(optimizer)].append({name: group[name] for name in known})
            group.update(known)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group, values in zip(optimizer.param_groups, self._before.pop(id(optimizer), []), strict=False):
            group.update(values)
