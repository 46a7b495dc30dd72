"""Gradients that something cuts off on one side of 0 are cut off on the other side as well."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class ClipBothWays(Listener):
    def __init__(self, run: Run, stack: ExitStack, limit: float) -> None:
        self._limit = abs(limit)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure:
            return
        with torch.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None and p.grad.layout == torch.strided:
                        p.grad.clamp_(-self._limit, self._limit)
