"""Unfreezes parameters that the step freezes, at the beginning of each step and after each update."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class Unfrozen(Listener):
    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str]) -> None:
        self._run, self._names = run, tuple(names)

    def step_begins(self, batch: object) -> None:
        for name in self._names:
            if name in self._run.parameters:
                self._run.parameters[name].requires_grad_(True)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self.step_begins(None)
