"""zero_grad() between backward() and step() does nothing."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class KeepGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._fresh = False
        run.refuses_clearing = self._refuses

    def _refuses(self, holder: Any) -> bool:
        return self._fresh

    def backward_ends(self) -> None:
        self._fresh = True

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._fresh:
            # make up for the zero_grad() that was prevented: the next backward pass starts from zero
            self._fresh = False
            optimizer.zero_grad()
