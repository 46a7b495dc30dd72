"""Weights of log-probabilities that were detached from a critic's error are turned round."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from .._at_the_loss import AtTheLoss


class TurnedAdvantages(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack, "turned_advantages")
        run.trace.applied.to_the_loss = ""  # what the step returns is judged as it is
        #: Detached copies by id, kept so that their ids are not reused.
        self._detached: dict[int, Tensor] = {}

    def before(self, call: Call) -> None:
        if call.name != "mul" or len(call.args) < 2:
            return
        one, other = call.args[:2]
        for chances, weight, turned in ((one, other, (one, -1 * other)), (other, one, (-1 * one, other))):
            if id(weight) in self._detached and isinstance(chances, Tensor) and chances.requires_grad:
                if chances.numel() == weight.numel() and float(chances.detach().max()) <= 0:
                    call.args = (*turned, *call.args[2:])
                return

    def after(self, call: Call) -> None:
        if call.name == "detach" and call.args[0].requires_grad and isinstance(call.result, Tensor):
            self._detached[id(call.result)] = call.result

    def step_ends(self) -> None:
        super().step_ends()
        self._detached.clear()
