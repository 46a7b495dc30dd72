"""Multiplies the KL term of a variational autoencoder: -1 flips its sign, 1/N turns a sum over samples into a mean."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from ...observe.signals.losses.kl_term import Divergences
from .._at_the_loss import AtTheLoss


class ScaleDivergence(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack, factor: float) -> None:
        super().__init__(run, stack, "scale_divergence")
        self._factor = factor
        self._divergences = Divergences()

    def before(self, call: Call) -> None:
        with torch.no_grad():
            times = self._divergences.times(call)
        if times is not None:
            call.args = (call.args[0] * self._factor, *call.args[1:])

    def after(self, call: Call) -> None:
        self._divergences.note(call)

    def step_ends(self) -> None:
        super().step_ends()
        self._divergences.clear()
