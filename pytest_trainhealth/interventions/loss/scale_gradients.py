"""Every backward pass starts with another factor: -1 flips the sign, 1/N turns a sum into a mean."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.run.run import Run
from .._scaled_backward import ScaledBackward


class ScaleGradients(ScaledBackward):
    def __init__(self, run: Run, stack: ExitStack, factor: float, tells: bool = False) -> None:
        """`tells`: multiply the recorded loss as well."""
        super().__init__(factor)
        self._run, self._tells = run, tells
        run.trace.applied.to_the_loss = "scale_gradients"

    def step_ends(self) -> None:
        if self._tells:
            self._run.trace.losses[-1] *= self.factor
