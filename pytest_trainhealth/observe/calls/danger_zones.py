"""Operations that are not finite everywhere, or whose gradient is not: how far an argument is from where that begins.

A function that torch offers in a stable form (`F.cross_entropy`, `logsumexp`, `F.normalize`) has no danger zone.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor

from ..source.authorship import PACKAGE_ROOT, is_library_file
from .torch_calls import Call

#: Where torch keeps the Python part of its operators: the caller of a function in these files called the operator.
_OPERATORS = tuple(
    os.path.join(os.path.dirname(torch.__file__), file) for file in ("overrides.py", "_tensor.py", "functional.py")
)


@dataclass(frozen=True)
class DangerZone:
    #: The distance of each element to the danger, 0 where it begins; None for a call without a danger zone.
    gap: Callable[[Call], Tensor | None]
    #: The danger lies beyond 0 too, not only at 0.
    beyond: bool = True
    #: A distance is worth the same wherever it is: an exponent. Elsewhere one tenth of it is ten times as close.
    evenly: bool = False
    #: torch itself keeps the gradient finite there, and only what is done with the result may not be.
    handled: bool = False


def _argument(call: Call) -> Tensor:
    argument: Tensor = call.args[0]  # calls without an argument are not reported
    return argument


def _above(limit: float) -> Callable[[Call], Tensor | None]:
    return lambda call: _argument(call) - limit


def _inside_one(call: Call) -> Tensor | None:
    return 1 - _argument(call).abs()


def _share(call: Call) -> Tensor | None:
    """For `logit`, whose argument is a share between 0 and 1. Given an epsilon, it has no danger zone."""
    given = _argument(call)
    return torch.minimum(given, 1 - given) if len(call.args) < 2 and call.kwargs.get("eps") is None else None


def _below_overflow(growth: float, both: bool = False) -> Callable[[Call], Tensor | None]:
    """`growth`: the logarithm of the factor by which the result grows when the argument grows by one."""

    def gap(call: Call) -> Tensor | None:
        if not call.result.is_floating_point():
            return None
        largest = math.log(torch.finfo(call.result.dtype).max) / growth
        return largest - (_argument(call).abs() if both else _argument(call))

    return gap


def _divisor(call: Call) -> Tensor | None:
    divisor = call.args[1] if len(call.args) > 1 else call.kwargs.get("other")
    return divisor.abs() if isinstance(divisor, Tensor) else None


def _size(call: Call) -> Tensor | None:
    return _argument(call).abs()


def _length(call: Call) -> Tensor | None:
    return call.result if isinstance(call.result, Tensor) else None


def _base(call: Call) -> Tensor | None:
    """For a power: a root or a reciprocal has a danger zone, a square or a cube has none."""
    exponent = call.args[1] if len(call.args) > 1 else call.kwargs.get("exponent")
    if not isinstance(exponent, Real) or float(exponent) >= 1 or not float(exponent):
        return None
    return _argument(call).abs() if float(exponent).is_integer() else _argument(call)


def _both_sizes(call: Call) -> Tensor | None:
    other = call.args[1] if len(call.args) > 1 else None
    return _argument(call).abs() + other.abs() if isinstance(other, Tensor) else None


_ZONES = {
    "log log2 log10 sqrt rsqrt": DangerZone(_argument),
    "log1p": DangerZone(_above(-1)),
    "acosh arccosh": DangerZone(_above(1)),
    "acos asin arccos arcsin atanh arctanh erfinv": DangerZone(_inside_one),
    "logit": DangerZone(_share),
    "exp expm1": DangerZone(_below_overflow(1.0), evenly=True),
    "exp2": DangerZone(_below_overflow(math.log(2)), evenly=True),
    "cosh sinh": DangerZone(_below_overflow(1.0, both=True), evenly=True),
    "pow __pow__": DangerZone(_base),
    "div div_ divide true_divide __truediv__ __itruediv__": DangerZone(_divisor, beyond=False),
    "reciprocal __rdiv__ __rtruediv__": DangerZone(_size, beyond=False),
    "norm linalg_norm linalg_vector_norm cdist": DangerZone(_length, beyond=False, handled=True),
    "atan2 arctan2": DangerZone(_both_sizes, beyond=False),
}
_BY_NAME = {name: zone for names, zone in _ZONES.items() for name in names.split()}
#: Names of the operations that are not finite there by themselves.
NOT_HANDLED = frozenset(name for name, zone in _BY_NAME.items() if not zone.handled)
_SPOKEN = {"__rdiv__": "div", "__rtruediv__": "div", "__truediv__": "div", "__itruediv__": "div", "__pow__": "pow"}


def danger_zone(call: Call) -> DangerZone | None:
    """None for an operation without a danger zone, and for one that a library calls: a library knows what it does."""
    zone = _BY_NAME.get(call.name)
    return zone if zone is not None and _called_by_user() else None


def spoken(name: str) -> str:
    return _SPOKEN.get(name, name).strip("_")


def _called_by_user() -> bool:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE_ROOT, *_OPERATORS)):
        frame = frame.f_back
    return not is_library_file(frame.f_code.co_filename)
