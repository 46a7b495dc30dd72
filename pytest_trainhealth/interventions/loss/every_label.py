"""Losses ignore no class that the model has an output for."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from ...records.loss_functions import WITH_CLASSES
from .._at_the_loss import AtTheLoss

#: What torch ignores unless it is told otherwise: -100.
_USUAL = -100


class EveryLabel(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack, "every_label")

    def before(self, call: Call) -> None:
        if call.name in WITH_CLASSES and int(call.kwargs.get("ignore_index", _USUAL)) >= 0:
            call.kwargs = {**call.kwargs, "ignore_index": _USUAL}
