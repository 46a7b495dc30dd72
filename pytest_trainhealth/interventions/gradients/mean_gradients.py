"""Gradients summed over several backward passes are divided by the number of passes before the update."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class MeanGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._passes = 0

    def backward_ends(self) -> None:
        self._passes += 1

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure or self._passes < 2:
            return
        with torch.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.div_(self._passes)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._passes = 0
