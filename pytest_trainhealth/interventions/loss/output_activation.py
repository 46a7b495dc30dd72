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
    "neg": torch.neg,
    "log": lambda tensor: torch.log(tensor + 1e-12),
    "logit": lambda tensor: torch.logit(tensor, eps=1e-6),
}
_SOFTMAXES: dict[str, Callable[[Tensor, int], Tensor]] = {"softmax": F.softmax, "log_softmax": F.log_softmax}


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

    def after(self, call: Call) -> None:
        """A softmax that is written out is computed anew, from what is left without the one before it."""
        made = self.outputs.made(call.result)
        if made is None or not made.written_out or made.activation not in self._functions or made.dim is None:
            return
        before = self.outputs.made(made.raw)
        if before is not None and before.activation == self._undo:
            call.result = _SOFTMAXES[made.activation](before.before(), made.dim)
            self.outputs.put(call.result, made)

    def _other(self, tensor: Any) -> Any:
        if not tensor.requires_grad:
            return tensor
        if self._undo:
            made = self.outputs.made(tensor)
            if made is None or made.activation != self._undo:
                return tensor
            tensor = made.before()
        return _APPLIED[self._apply](tensor) if self._apply else tensor
