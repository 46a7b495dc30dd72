"""All parameters in one kernel: the `fused=True` of torch's own optimizers, for each step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class FusedUpdate(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._before: dict[int, list[dict[str, Any]]] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        able = [group for group in optimizer.param_groups if "fused" in group]
        self._before[id(optimizer)] = [{"fused": group["fused"], "foreach": group.get("foreach")} for group in able]
        for group in able:
            group["fused"], group["foreach"] = True, False

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        able = [group for group in optimizer.param_groups if "fused" in group]
        for group, values in zip(able, self._before.pop(id(optimizer), []), strict=False):
            group.update(values)
