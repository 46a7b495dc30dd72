"""Follows probabilities to the logarithm of the one that the label asks for, in losses that are written by hand.

`log(p[range(n), y])`, `y * log(p) + (1 - y) * log(1 - p)`, `log(where(y == 1, p, 1 - p))`; each with or without a small
number that keeps the logarithm finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .activation_origin import Outputs
from .torch_calls import Call

_KEEPS = {"clamp", "clip", "clamp_min", "squeeze", "unsqueeze", "view", "reshape", "flatten", "float"}
_KINDS = {"softmax": "classes", "sigmoid": "yes or no", "log_sigmoid": "logarithm"}
#: What is added to a probability to keep its logarithm finite. By judgement: 1e-12 to 1e-3 are usual.
_SMALL = 1e-2


@dataclass(frozen=True)
class LabelLikelihood:
    """Logarithms of the probabilities of labels; `factor`: they were multiplied by these labels."""

    logarithms: Tensor
    factor: Tensor | None = None


class Likelihoods:
    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        #: By the id of each tensor, what it is; kept so that no other tensor gets its id.
        self._known: dict[int, tuple[Tensor, str]] = {}

    def clear(self) -> None:
        self._known.clear()

    def note(self, call: Call, selects: bool) -> LabelLikelihood | None:
        """To be called after each torch call, and before `Outputs.note`. `selects`: it takes one value of each row."""
        first, second = call.args[0], call.args[1] if len(call.args) > 1 else None
        kind, new = self._kind(first), ""
        if call.name == "log" and kind == "selected":
            return LabelLikelihood(call.result)
        if call.name == "mul" and isinstance(second, Tensor):
            return self._product(call, first, second)
        if call.name == "where" and len(call.args) > 2:
            sides = {self._kind(each) for each in call.args[1:3]}
            new = "selected" if sides == {"yes or no"} else ""
        elif selects and kind == "classes":
            new = "selected"
        elif call.name == "log" and kind == "yes or no":
            new = "logarithm"
        elif kind and self._keeps(call, second, kind):
            new = kind
        if new:
            self._known[id(call.result)] = (call.result, new)
        return None

    def _product(self, call: Call, first: Tensor, second: Tensor) -> LabelLikelihood | None:
        logarithms, labels = (first, second) if first.requires_grad else (second, first)
        if self._kind(logarithms) != "logarithm" or labels.requires_grad or labels.shape != logarithms.shape:
            return None
        fits = bool((labels >= 0).all()) and bool((labels <= 1).all())
        return LabelLikelihood(call.result, labels.to(call.result.dtype)) if fits else None

    def _kind(self, tensor: Any) -> str:
        known = self._known.get(id(tensor))
        if known is not None and known[0] is tensor:
            return known[1]
        made = self._outputs.made(tensor)
        return _KINDS.get(made.activation, "") if made is not None and made.tensor is tensor else ""

    def _keeps(self, call: Call, second: Any, kind: str) -> bool:
        if call.name in ("__rsub__", "rsub"):
            return kind == "yes or no" and second == 1
        if call.name in ("add", "__radd__"):
            return kind != "logarithm" and isinstance(second, float) and 0 < second <= _SMALL
        return call.name in _KEEPS
