"""The output that a classification loss compares with its classes is divided by its spread at the first step.

If the training begins sooner with it, the model's answers were far too sure before anything had been learnt.
"""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from .._at_the_loss import AtTheLoss

_GIVEN_LOGITS = {"cross_entropy", "binary_cross_entropy_with_logits"}


class CalmedOutput(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack, "")
        self._spreads: dict[int, float] = {}

    def before(self, call: Call) -> None:
        if call.name not in _GIVEN_LOGITS or not call.args[0].is_floating_point() or call.args[0].numel() < 2:
            return
        output = call.args[0]
        width = output.shape[-1] if output.ndim else 1
        spread = self._spreads.setdefault(width, max(1.0, float(output.detach().float().std())))
        call.args = (output / spread, *call.args[1:])
