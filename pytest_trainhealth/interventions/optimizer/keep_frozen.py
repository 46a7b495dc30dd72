"""Frozen values stay as they are: optimizers skip them, and BatchNorms keep their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from torch import nn
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class KeepFrozen(Listener):
    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str], zeroed: Sequence[str] = ()) -> None:
        self._run, self._stack, self._names = run, stack, set(names)
        self._zeroed = tuple(zeroed)

    def run_begins(self) -> None:
        self._hold_statistics()

    def step_begins(self, batch: object) -> None:
        self._hold_statistics()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group in optimizer.param_groups:
            for p in group["params"]:
                if not p.requires_grad:
                    p.grad = None
        for name in self._zeroed:  # the user's code sets their gradients to 0: meant to be frozen
            if name in self._run.parameters:
                self._run.parameters[name].grad = None
                self._run.trace.wiring.parameters[name].trainable = False

    def _hold_statistics(self) -> None:
        for path, module in self._run.named_modules():
            if path in self._names:
                self._names.discard(path)
                module.eval()
                self._stack.callback(module.register_forward_pre_hook(_evaluated).remove)


def _evaluated(module: nn.Module, inputs: Any) -> None:
    module.eval()
