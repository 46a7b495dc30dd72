"""No weight decay on biases and on the scales of normalisations: on whatever has a single dimension."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class UndecayedVectors(Listener):
    """They are a group of their own while the optimizer steps, and no longer: schedulers count the groups."""

    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._before: dict[int, list[dict[str, Any]]] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        groups = optimizer.param_groups
        self._before[id(optimizer)] = list(groups)
        groups[:] = [part for group in groups for part in _parts(group)]

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        before = self._before.pop(id(optimizer), None)
        if before is not None:
            optimizer.param_groups[:] = before


def _parts(group: dict[str, Any]) -> list[dict[str, Any]]:
    vectors = [p for p in group["params"] if p.ndim <= 1]
    if not group.get("weight_decay") or not vectors:
        return [group]
    others = [p for p in group["params"] if p.ndim > 1]
    parts = [{**group, "params": vectors, "weight_decay": 0.0}]
    return [{**group, "params": others}, *parts] if others else parts
