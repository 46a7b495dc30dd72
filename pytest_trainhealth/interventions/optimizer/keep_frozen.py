"""Frozen values stay as they are: optimizers skip them, and BatchNorms keep their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import before_call


class KeepFrozen(Listener):
    def __init__(
        self, run: Run, stack: ExitStack, names: Sequence[str], zeroed: Sequence[str] = (), rows: Sequence[str] = ()
    ) -> None:
        self._run, self._stack, self._names = run, stack, set(names)
        self._zeroed, self._tables = tuple(zeroed), tuple(rows)
        #: Rows without a gradient, and what they were.
        self._rows: dict[str, tuple[Tensor, Tensor]] = {}

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

        for name in self._tables:
            parameter = self._run.parameters.get(name)
            if parameter is not None and parameter.grad is not None:
                rows = (parameter.grad == 0).flatten(1).all(1)
                self._rows[name] = (rows, parameter.detach()[rows].clone())

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for name, (rows, values) in self._rows.items():
            with torch.no_grad():
                self._run.parameters[name][rows] = values
        self._rows.clear()

    def _hold_statistics(self) -> None:
        for path, module in self._run.named_modules():
            if path in self._names:
                self._names.discard(path)
                module.eval()
                self._stack.callback(before_call(_evaluated, module).remove)


def _evaluated(module: nn.Module, inputs: Any) -> None:
    module.eval()
