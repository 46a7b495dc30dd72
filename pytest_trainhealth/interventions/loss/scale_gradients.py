"""Every backward pass starts with another factor: -1 turns a sign, 1/N makes a mean of a sum."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.run.run import Run
from .._scaled_backward import ScaledBackward


class ScaleGradients(ScaledBackward):
    def __init__(self, run: Run, stack: ExitStack, factor: float, tells: bool = False) -> None:
        """`tells`: the loss that is told is multiplied too."""
        super().__init__(factor)
        self._run, self._tells = run, tells
        run.trace.applied.to_the_loss = "scale_gradients"

    def step_ends(self) -> None:
        if self._tells:
            self._run.trace.losses[-1] *= self.factor
