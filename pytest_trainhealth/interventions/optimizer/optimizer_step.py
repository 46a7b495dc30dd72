"""Every optimizer that did not step by itself is stepped before the next forward pass.

Not later: between a forward pass and its backward pass, a step would change values that the graph still needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import before_call


class OptimizerStep(Listener):
    """`only`: step just these, at the end of each training step; the others step by themselves."""

    def __init__(self, run: Run, stack: ExitStack, only: Sequence[str] = ()) -> None:
        self._run, self._only = run, only
        self._due = False
        self._updated = False
        stack.callback(before_call(self._forward_begins).remove)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updated = True

    def backward_ends(self) -> None:
        self._due = True

    def gradients_cleared(self, holder: Any) -> None:
        self._due = False

    def step_ends(self) -> None:
        for label in self._only:
            if label in self._run.optimizers:
                self._run.optimizers[label].step()
        self._step()

    def _forward_begins(self, module: nn.Module, inputs: Any) -> None:
        if self._due and torch.is_grad_enabled():
            self._step()

    def _step(self) -> None:
        if self._due and not self._updated and not self._only:
            for optimizer in list(self._run.optimizers.values()):
                optimizer.step()
                optimizer.zero_grad()  # the loop may clear gradients only where it meant to step
        self._due = self._updated = False
