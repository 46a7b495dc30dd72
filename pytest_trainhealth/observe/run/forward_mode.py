"""Keeps a function mode out of what is no forward pass: the steps of optimizers, and the clearing of gradients.

There is nothing to see or to change there: the norm of a weight that a LARS computes is no penalty. And a mode costs
every torch function that is called while it is on; on small models most of them are called by the optimizer.
"""

from __future__ import annotations

from contextlib import ExitStack

from torch import nn
from torch.optim import Optimizer

from ...tensors.function_modes import FunctionMode, Lifted
from .events import Listener
from .run import Run


class OnlyForward(Listener):
    def __init__(self, mode: FunctionMode) -> None:
        self._mode = Lifted(mode)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:  # a closure computes a loss
            self._mode.lift()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            self._mode.put_back()

    def gradients_clearing(self, holder: Optimizer | nn.Module) -> None:
        self._mode.lift()

    def gradients_cleared(self, holder: Optimizer | nn.Module) -> None:
        self._mode.put_back()

    def step_ends(self) -> None:
        self._mode.end()

    def run_ends(self) -> None:
        self._mode.end()


def enter_forward_mode(mode: FunctionMode, run: Run, stack: ExitStack) -> None:
    """Until the stack is closed. To be called before the intervention that owns the mode listens itself."""
    stack.enter_context(mode)
    run.subscribe(OnlyForward(mode))
