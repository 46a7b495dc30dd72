"""zero_grad() between backward() and step() does nothing."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class KeepGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        #: Optimizers that have not stepped since the last backward pass.
        self._fresh: set[int] = set()
        run.refuses_clearing = self._refuses

    def _refuses(self, holder: Any) -> bool:
        return id(holder) in self._fresh if isinstance(holder, Optimizer) else bool(self._fresh)

    def backward_ends(self) -> None:
        self._fresh = set(map(id, self._run.optimizers.values()))

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if id(optimizer) in self._fresh:
            # make up for the zero_grad() that was prevented: the next backward pass starts from zero
            self._fresh.discard(id(optimizer))
            optimizer.zero_grad()
