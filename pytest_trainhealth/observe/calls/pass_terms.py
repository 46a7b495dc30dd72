"""What a backward pass starts from: how many terms its loss is a mean or a sum of, and what it was multiplied by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

#: How many operations at the end of a loss are searched: the scale of a loss scaler, a division by the number of
#: passes, one by the number of terms. By judgement: these three, and three for a change of type, shape or sign.
_DEEP = 6
#: As torch numbers them: 1 for a mean, 2 for a sum.
_MEAN, _SUM = 1, 2
#: How far a divisor may be from the number of terms and still stand for it. By judgement: a count kept in float32 is
#: exact, and `clamp(min=1)` or an epsilon changes less.
_ABOUT = 1e-4


@dataclass(frozen=True)
class PassTerms:
    #: "mean": divided by the number of its own terms; "sum": by none, or by a number that is not theirs.
    kind: Literal["mean", "sum", "unknown"]
    #: What the mean, or the sum, was multiplied by: 1/k where it was divided by k.
    factor: float = 1.0
    #: The same where it makes the loss larger: the scale of a loss scaler, which is taken back before the step.
    scale: float = 1.0
    #: How many terms there are: samples, pixels, tokens that are not ignored.
    count: float = 1.0


def pass_terms(root: Tensor) -> PassTerms:
    factors: list[float] = []
    node: Any = root.grad_fn
    for _ in range(_DEEP):
        kind = type(node).__name__
        if kind.startswith(("DivBackward", "MulBackward")):
            other = getattr(node, "_saved_other", None)
            if not isinstance(other, Tensor):
                other = getattr(node, "_saved_self", None)  # 0.5 * loss: the number is on the left
            if isinstance(other, Tensor) and other.numel() == 1 and not other.requires_grad and float(other):
                value = abs(float(other))
                factors.append(1 / value if kind.startswith("Div") else value)
        elif not kind.startswith(("NegBackward", "ToCopy", "View", "Reshape", "Squeeze", "UnsafeView", "Alias")):
            break
        inner = [each for each, _ in node.next_functions if each is not None]
        if len(inner) != 1:
            return PassTerms("unknown", math.prod(factors))
        node = inner[0]
    return _terms(node, factors)


def _terms(node: Any, factors: list[float]) -> PassTerms:
    scale = math.prod(each for each in factors if each > 1)
    factors = [each for each in factors if each <= 1]
    count, is_mean = _counted(node)
    if count is None:
        return PassTerms("unknown", math.prod(factors), scale)
    if is_mean:
        return PassTerms("mean", math.prod(factors), scale, count)
    own = next((each for each in factors if abs(each * count - 1) < _ABOUT), None)
    if own is None:
        return PassTerms("sum", math.prod(factors), scale, count)
    return PassTerms("mean", math.prod(factors) / own, scale, count)


def weight_of(terms: PassTerms) -> float:
    """What the gradient of a pass is multiplied by to be that of the sum of its terms."""
    plain = 1 / (terms.factor * terms.scale)
    return plain * terms.count if terms.kind == "mean" else plain


def _counted(node: Any) -> tuple[float | None, bool]:
    """How many terms the node adds up, and whether it divides by their number; None where it does not say."""
    kind = type(node).__name__
    if kind == "MeanBackward0":
        return float(math.prod(node._saved_self_sym_sizes)), True
    if kind == "SumBackward0":
        inner = next((each for each, _ in node.next_functions if each is not None), None)
        size = math.prod(node._saved_self_sym_sizes)
        if type(inner).__name__ == "MulBackward0":
            masks = [getattr(inner, name, None) for name in ("_saved_other", "_saved_self")]
            for mask in masks:
                if isinstance(mask, Tensor) and mask.numel() == size and not mask.requires_grad:
                    return float(mask.double().sum()), False
        return float(size), False
    reduction, total = getattr(node, "_saved_reduction", None), getattr(node, "_saved_total_weight", None)
    if reduction not in (_MEAN, _SUM):
        return None, False
    if isinstance(total, Tensor) and total.numel() == 1 and float(total):
        return float(total), reduction == _MEAN
    target: Any = getattr(node, "_saved_target", None)
    if isinstance(total, Tensor):  # a sum does not keep its weight: what is not ignored
        kept = target != node._saved_ignore_index if isinstance(target, Tensor) else None
        return (float(kept.sum()) if kept is not None else None), reduction == _MEAN
    given: Any = getattr(node, "_saved_self", None)
    return (float(given.numel()) if isinstance(given, Tensor) else None), reduction == _MEAN
