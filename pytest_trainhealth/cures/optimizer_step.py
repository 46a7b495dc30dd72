"""Every optimizer that did not step of its own takes one, before the gradients of the next backward pass come in."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ..observe.run import Run


class listener:
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._due = False
        self._updated = False

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updated = True

    def backward_ends(self) -> None:
        self._due = True

    def backward_begins(self, roots: object) -> None:
        self._step()

    def gradients_cleared(self, holder: Any) -> None:
        self._due = False

    def step_ends(self) -> None:
        self._step()

    def _step(self) -> None:
        if self._due and not self._updated:
            for optimizer in list(self._run.optimizers.values()):
                optimizer.step()
                optimizer.zero_grad()  # the loop may do that only where it meant to step
        self._due = self._updated = False
