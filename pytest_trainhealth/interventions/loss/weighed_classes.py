"""The loss weighs classes, so that each counts as much as if it came as often as in `val_data`.

In steps only: an evaluation beside them is of the loss as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from ...records.loss_functions import BINARY, WITH_CLASSES
from .._at_the_loss import AtTheLoss

#: Arguments of a call without weights: what is compared, 2.
_PLAIN = 2


class WeighedClasses(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack, weights: Mapping[int, float]) -> None:
        super().__init__(run, stack, "weighed_classes")
        self._weights = {int(label): float(weight) for label, weight in weights.items()}
        self._in_a_step = False
        #: The mean weight of what the call counts.
        self._share = 1.0

    def step_begins(self, batch: object) -> None:
        self._in_a_step = True

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._in_a_step = has_closure

    def step_ends(self) -> None:
        self._in_a_step = False
        super().step_ends()

    def before(self, call: Call) -> None:
        self._share = 1.0
        if not self._in_a_step or len(call.args) != _PLAIN or not isinstance(call.args[1], Tensor):
            return
        scores, target = call.args[0], call.args[1]
        if any(call.kwargs.get(name) is not None for name in ("weight", "pos_weight")):
            return
        if call.name in WITH_CLASSES and not target.is_floating_point():
            each = [self._weights.get(label, 1.0) for label in range(scores.shape[1 if scores.ndim > 1 else 0])]
            weight = torch.tensor(each, device=scores.device, dtype=scores.dtype)
            call.kwargs = {**call.kwargs, "weight": weight}
            counted = target[target != int(call.kwargs.get("ignore_index", -100))]
            if counted.numel() and call.kwargs.get("reduction", "mean") == "mean":
                # torch divides by the weights of the batch: one without the class would count as much as one with it
                self._share = float(weight[counted].mean())
        elif call.name in BINARY and scores.shape == target.shape:
            weight = torch.ones_like(scores).detach()
            for label, factor in self._weights.items():
                weight = torch.where(target == label, factor, weight)
            call.kwargs = {**call.kwargs, "weight": weight}

    def after(self, call: Call) -> None:
        if self._share != 1.0 and isinstance(call.result, Tensor):
            call.result, self._share = call.result * self._share, 1.0
