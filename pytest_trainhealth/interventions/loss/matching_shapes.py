"""If input and target differ only by dimensions of size 1, compares them element by element, not each with all."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor

from ...observe.calls.torch_calls import Call
from ...observe.run.run import Run
from ...records.loss_functions import DIFFERENCES
from .._at_the_loss import AtTheLoss

_FUNCTIONS = {*DIFFERENCES, "sub", "mul"}


class MatchingShapes(AtTheLoss):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack, "matching_shapes")

    def before(self, call: Call) -> None:
        if call.name not in _FUNCTIONS or len(call.args) < 2 or not isinstance(call.args[1], Tensor):
            return
        first, second = call.args[0], call.args[1]
        if first.requires_grad != second.requires_grad and first.shape != second.shape and _crossed(first, second):
            call.args = (first.reshape(second.shape), *call.args[1:])


def _crossed(first: Tensor, second: Tensor) -> bool:
    """(N, 1) and (N,): the same shape except for dimensions of size 1, but broadcast to more than either."""
    ones = [[n for n in tensor.shape if n != 1] for tensor in (first, second)]
    if ones[0] != ones[1] or not ones[0]:
        return False
    width = max(first.ndim, second.ndim)
    padded = [(1,) * (width - tensor.ndim) + tuple(tensor.shape) for tensor in (first, second)]
    return padded[0] != padded[1]
