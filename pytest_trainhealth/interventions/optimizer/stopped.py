"""Nothing is learnt any more after some step, as with early stopping; the steps themselves go on."""

from __future__ import annotations

from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class Stopped(Listener):
    def __init__(self, run: Run, stack: ExitStack, after: int) -> None:
        self._run, self._after = run, after
        run.trace.applied.stopped_after = after

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Without gradients an optimizer leaves its parameters alone, weight decay and momentum included."""
        if self._run.step >= self._after:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
