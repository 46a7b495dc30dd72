"""A loss scale: gradients are larger throughout the backward pass, and divided again before they are used."""

from __future__ import annotations

from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.run import Run
from .._scaled_backward import ScaledBackward


class ScaledLoss(ScaledBackward):
    def __init__(self, run: Run, stack: ExitStack, factor: float) -> None:
        super().__init__(factor)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        _multiply(optimizer, 1 / self.factor)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        _multiply(optimizer, self.factor)  # code that accumulates gradients finds them as before


def _multiply(optimizer: Optimizer, factor: float) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.mul_(factor)
