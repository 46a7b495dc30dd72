"""Clears gradients that an optimizer has used before the next backward pass."""

from __future__ import annotations

from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class ZeroGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._used: dict[int, Optimizer] = {}

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._used[id(optimizer)] = optimizer

    def backward_begins(self, roots: object) -> None:
        for optimizer in self._used.values():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
        self._used.clear()
