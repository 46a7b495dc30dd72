"""Changes the activation function before the loss: leaves out the present one, applies a missing one, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from .._at_the_loss import AtTheLoss

_APPLIED: dict[str, Callable[[Tensor], Tensor]] = {
    "log_softmax": lambda tensor: F.log_softmax(tensor, 1 if tensor.ndim > 1 else 0),
    "sigmoid": torch.sigmoid,
    "log": lambda tensor: torch.log(tensor + 1e-12),
}


class OutputActivation(AtTheLoss):
    FOLLOWS = True

    def __init__(self, run: Run, stack: ExitStack, functions: Sequence[str], undo: str = "", apply: str = "") -> None:
        super().__init__(run, stack, "output_activation")
        self._functions, self._undo, self._apply = set(functions), undo, apply

    def before(self, call: Call) -> None:
        if call.name not in self._functions:
            return
        others = [isinstance(a, Tensor) and not a.requires_grad for a in call.args[1:2]]
        if call.name == "sub" and not any(others) and call.args[0].requires_grad:
            return  # a difference inside the model
        call.args = tuple(self._other(a) if isinstance(a, Tensor) else a for a in call.args[:2]) + call.args[2:]

    def _other(self, tensor: Any) -> Any:
        if not tensor.requires_grad:
            return tensor
        if self._undo:
            made = self.outputs.made(tensor)
            if made is None or made.activation != self._undo:
                return tensor
            tensor = made.before()
        return _APPLIED[self._apply](tensor) if self._apply else tensor
