"""Activation functions that are written out: exp(x) / exp(x).sum(), x - logsumexp(x), 1 / (1 + exp(-x)).

`torch.distributions` computes them like that too. The intermediate results of a step are followed by identity; values
are never compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .torch_calls import Call

#: What only gives a sum its lost dimension back, or keeps it from being 0.
_RESHAPES = {"unsqueeze", "view", "reshape", "__getitem__", "clamp", "clip", "clamp_min", "expand", "expand_as"}


@dataclass(frozen=True)
class _Part:
    """An intermediate result: `kind` of `source`."""

    kind: str
    source: Tensor
    #: Kept alive, so that no other tensor gets its id.
    result: Tensor
    dim: int | None = None


@dataclass(frozen=True)
class Written:
    activation: str
    raw: Tensor
    dim: int | None = None


class WrittenOut:
    def __init__(self) -> None:
        self._parts: dict[int, _Part] = {}

    def clear(self) -> None:
        self._parts.clear()

    def note(self, call: Call) -> Written | None:
        """To be called after each torch call: the activation function that it completes, if it does."""
        result, step = call.result, _STEPS.get(call.name)
        if not isinstance(result, Tensor) or not result.is_floating_point():
            return None
        found = step(self, call) if step is not None else None
        if isinstance(found, Written):
            return found
        if found is not None:
            self._parts[id(result)] = found
        else:
            self._parts.pop(id(result), None)  # the id of a tensor that is gone, or one that was changed in place
        return None

    def divided_by_its_sum(self, call: Call) -> int | None:
        """The dimension over which `p / p.sum(dim)` normalises."""
        below = self._part(_second(call), "sum") if call.name in ("div", "true_divide") else None
        return below.dim if below is not None and below.source is call.args[0] else None

    def _part(self, tensor: Any, *kinds: str) -> _Part | None:
        part = self._parts.get(id(tensor)) if isinstance(tensor, Tensor) else None
        return part if part is not None and part.result is tensor and part.kind in kinds else None

    def _unshifted(self, tensor: Tensor) -> Tensor:
        part = self._part(tensor, "shifted")
        return tensor if part is None else part.source

    def _negates(self, call: Call) -> _Part:
        return _Part("negative", call.args[0], call.result)

    def _exponentiates(self, call: Call) -> _Part:
        return _Part("exp", call.args[0], call.result)

    def _sums(self, call: Call) -> _Part | None:
        dim = _dim(call)
        return None if dim is None else _Part("sum", call.args[0], call.result, dim)

    def _logsumexps(self, call: Call) -> _Part | None:
        dim = _dim(call)
        return None if dim is None else _Part("logsumexp", call.args[0], call.result, dim)

    def _takes_logarithm(self, call: Call) -> _Part | None:
        total = self._part(call.args[0], "sum")
        powers = self._part(total.source, "exp") if total is not None else None
        if total is None or powers is None:
            return None
        return _Part("logsumexp", powers.source, call.result, total.dim)

    def _reshapes(self, call: Call) -> _Part | None:
        part = self._part(call.args[0], "sum", "logsumexp")
        return None if part is None else _Part(part.kind, part.source, call.result, part.dim)

    def _adds(self, call: Call) -> _Part | None:
        """1 + exp(x); or a small number, which keeps a sum from being 0."""
        second = _second(call)
        if isinstance(second, Tensor):
            return None
        powers, total = self._part(call.args[0], "exp"), self._part(call.args[0], "sum")
        if powers is not None and second == 1:
            return _Part("1 + exp", powers.source, call.result)
        return None if total is None else _Part("sum", total.source, call.result, total.dim)

    def _subtracts(self, call: Call) -> _Part | Written | None:
        first, second = call.args[0], _second(call)
        total = self._part(second, "logsumexp")
        if total is not None and total.source is first and second.ndim == first.ndim:
            return Written("log_softmax", self._unshifted(first), total.dim)
        constant = isinstance(second, Tensor) and second.ndim == first.ndim and second.shape != first.shape
        if constant and call.result.shape == first.shape:
            return _Part("shifted", first, call.result)  # such as its largest value, which no softmax notices
        return None

    def _divides(self, call: Call) -> Written | None:
        powers, below = self._part(call.args[0], "exp"), self._part(_second(call), "sum", "1 + exp")
        if powers is None or below is None:
            return None
        if below.kind == "1 + exp":
            return Written("sigmoid", powers.source) if below.source is powers.source else None
        summed = self._part(below.source, "exp")
        if summed is None or summed.source is not powers.source:
            return None
        return Written("softmax", self._unshifted(powers.source), below.dim)

    def _inverts(self, call: Call) -> Written | None:
        """1 / (1 + exp(-x))"""
        if call.name != "reciprocal" and (isinstance(_second(call), Tensor) or _second(call) != 1):
            return None
        below = self._part(call.args[0], "1 + exp")
        negative = self._part(below.source, "negative") if below is not None else None
        return None if negative is None else Written("sigmoid", negative.source)


_STEPS = {
    **dict.fromkeys(("neg", "negative"), WrittenOut._negates),
    "exp": WrittenOut._exponentiates,
    "sum": WrittenOut._sums,
    "logsumexp": WrittenOut._logsumexps,
    "log": WrittenOut._takes_logarithm,
    **dict.fromkeys(_RESHAPES, WrittenOut._reshapes),
    **dict.fromkeys(("add", "__radd__"), WrittenOut._adds),
    "sub": WrittenOut._subtracts,
    **dict.fromkeys(("div", "true_divide"), WrittenOut._divides),
    **dict.fromkeys(("__rdiv__", "__rtruediv__", "reciprocal"), WrittenOut._inverts),
}


def _second(call: Call) -> Any:
    return call.args[1] if len(call.args) > 1 else call.kwargs.get("other")


def _dim(call: Call) -> int | None:
    """The single dimension that is summed over, counted from the front."""
    dim = call.kwargs.get("dim", _second(call))
    if isinstance(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    return dim % max(call.args[0].ndim, 1) if isinstance(dim, int) and not isinstance(dim, bool) else None
