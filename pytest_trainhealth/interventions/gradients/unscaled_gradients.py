"""Gradients reach the optimizer at their real size, whatever was done with a loss scaler."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.calls.loss_scale import LossScale
from ...observe.run.events import Listener
from ...observe.run.run import Run


class UnscaledGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._scale = LossScale(lambda: list(run.optimizers.values()))
        self._scale.listen(stack)

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._scale.pass_begins(roots)

    def backward_ends(self) -> None:
        self._scale.pass_ends()

    def gradients_cleared(self, holder: object) -> None:
        self._scale.cleared()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        factor = 1.0 if has_closure else self._scale.factor(optimizer)
        if factor == 1:
            return
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad.div_(factor)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._scale.updated(optimizer)

    def step_ends(self) -> None:
        self._scale.step_over()
