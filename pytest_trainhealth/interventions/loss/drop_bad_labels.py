"""Leaves samples out of the loss whose label the loss function does not allow."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from ...records.loss_functions import BINARY, SIGNED, TARGET_AT, WITH_CLASSES
from .._at_the_loss import AtTheLoss

#: Losses with two inputs are not changed: a sample would have to be removed from both.
_SIGNED = {name for name in SIGNED if TARGET_AT[name] == 1}


class DropBadLabels(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack, "drop_bad_labels")

    def before(self, call: Call) -> None:
        if call.name not in {*WITH_CLASSES, *BINARY, *_SIGNED} or len(call.args) < 2:
            return
        input, target = call.args[0], call.args[1]
        if not isinstance(target, Tensor):
            return
        if call.name in WITH_CLASSES:
            if not target.is_floating_point():
                ignore = int(call.kwargs.get("ignore_index", -100))
                bad = (target < 0) | (target >= input.shape[1 if input.ndim > 1 else 0])
                call.args = (input, target.masked_fill(bad, ignore), *call.args[2:])
        elif input.shape == target.shape:
            good = (target >= 0) & (target <= 1) if call.name in BINARY else target.abs() == 1
            if not bool(good.all()) and not isinstance(call.kwargs.get("weight"), torch.Tensor):
                call.args = (input[good], target[good], *call.args[2:])
