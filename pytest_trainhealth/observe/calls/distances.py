"""Distances between what a model computes for samples, as far as they are followed: a smaller one means more alike.

Distances from parameters are left out: a model may learn points that a sample of a class should keep away from.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from .torch_calls import Call

_MOVES = {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "contiguous", "clone", "float", "double",
          "transpose", "permute", "t", "T", "mT", "__getitem__", "clamp", "clip", "clamp_min", "sqrt"}  # fmt: skip
_NORMS = {"norm", "vector_norm", "linalg_norm", "linalg_vector_norm"}


class Distances:
    def __init__(self) -> None:
        #: By the id of each tensor that is known, what it is; kept so that no other tensor gets its id.
        self._known: dict[int, tuple[Tensor, str]] = {}

    def clear(self) -> None:
        self._known.clear()

    def holds(self, tensor: Any) -> bool:
        return self._kind(tensor) == "distance"

    def note(self, call: Call) -> None:
        """To be called after each torch call."""
        if not isinstance(call.result, Tensor) or not call.result.is_floating_point():
            return
        given = [each for each in (*call.args, *call.kwargs.values()) if isinstance(each, Tensor)]
        kind = "parameter" if all(map(self._is_parameter, given)) else self._made(call)
        if kind:
            self._known[id(call.result)] = (call.result, kind)
        else:
            self._known.pop(id(call.result), None)

    def _kind(self, tensor: Any) -> str:
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0] is tensor else ""

    def _is_parameter(self, tensor: Tensor) -> bool:
        return isinstance(tensor, nn.Parameter) or self._kind(tensor) == "parameter"

    def _made(self, call: Call) -> str:
        first: Any = call.args[0]
        second: Any = call.args[1] if len(call.args) > 1 else None
        kind = self._kind(first)
        pair = isinstance(second, Tensor) and not self._is_parameter(first) and not self._is_parameter(second)
        if call.name == "cdist" and pair:
            return "distance"
        if call.name == "sub" and pair and call.result.numel() > max(first.numel(), second.numel()):
            return "difference"
        if kind == "difference":
            return self._of_difference(call, second)
        if kind == "square":
            return "distance" if call.name in ("sum", "mean") and _over_the_last(call) else ""
        return kind if kind == "distance" and _keeps_order(call, second) else ""

    def _of_difference(self, call: Call, second: Any) -> str:
        if call.name in ("square", "abs") or (call.name == "pow" and second == 2):
            return "square"
        if call.name == "mul" and second is call.args[0]:
            return "square"
        return "distance" if call.name in _NORMS and _over_the_last(call) else ""


def _keeps_order(call: Call, second: Any) -> bool:
    """What was larger is still larger."""
    if call.name in _MOVES or call.name == "square" or (call.name == "mul" and second is call.args[0]):
        return True
    positive = isinstance(second, (int, float)) and second > 0
    return positive and call.name in ("mul", "div", "true_divide", "pow")


def _over_the_last(call: Call) -> bool:
    dim = call.kwargs.get("dim", next((a for a in call.args[1:] if isinstance(a, (int, tuple, list))), None))
    dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
    return bool(dim in (-1, call.args[0].ndim - 1))
