"""How often backward() was called in each step, and whether it reached any parameter."""

from __future__ import annotations

from torch import Tensor

from ...run.run import Run
from ...run.signal import Cost, Signal


class Backwards(Signal):
    NAME, COST = "backwards", Cost.ALWAYS

    def __init__(self, run: Run) -> None:
        self._run = run
        self._count = 0

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._count += 1
        if not any(getattr(root, "requires_grad", False) for root in roots):
            self._run.trace.loss_connected = False

    def backward_ends(self) -> None:
        # a pass that raised and was caught is the user's business, as soon as another one comes through
        self._run.trace.loss_connected = True

    def step_ends(self) -> None:
        self._run.trace.backwards.append(self._count)
        self._count = 0
