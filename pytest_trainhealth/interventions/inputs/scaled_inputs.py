"""Inputs that are larger or smaller throughout: another unit, a forgotten normalisation, another instrument."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor

from ...observe.run.run import Run
from .._at_the_inputs import AtTheInputs


class ScaledInputs(AtTheInputs):
    def __init__(self, run: Run, stack: ExitStack, factor: float) -> None:
        super().__init__(run, stack)
        self._factor = factor

    def changed(self, tensor: Tensor) -> Tensor:
        return tensor * self._factor
