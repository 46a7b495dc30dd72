"""Recognises the KL term of a variational autoencoder by its values, in whatever order its formula is written.

It is 0.5 * (mean^2 + var - log(var) - 1), a term for each latent. The squares and the positive tensors of a step are
kept; what is summed up is held against each pair of them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor

from ...calls.torch_calls import Call

_REDUCES = {"sum", "mean"}
#: What is summed up must have been added up itself: squares alone (an RMS norm) are not looked at.
_ADDED_UP = ("Add", "Sub", "Rsub", "Mul", "Div", "Neg")
#: Values of a term, and how many are compared. By judgement: fewer than 8 may agree by chance, 1,000 settle it.
_FEWEST, _LOOKED_AT = 8, 1000
#: The formula's terms stand closely together where a model is built, and all others are left behind. By judgement: two
#: encoders of four terms.
_KEPT = 8
#: In float32 the terms of a freshly made encoder (0.01 and less) differ by rounding of 1e-5 of their spread. To leave
#: one part of the formula out changes them by at least `_PART`.
_ACCURACY = 1e-2
#: Of the spread of the whole: five times what rounding and `_ACCURACY` = 0.01 allow.
_PART = 0.05


@dataclass
class _Kept:
    shape: tuple[int, ...]
    values: Tensor


class Divergences:
    """KL divergences of diagonal Gaussians from the standard one, among what is summed up or averaged."""

    def __init__(self) -> None:
        self._squares: deque[_Kept] = deque(maxlen=_KEPT)
        self._variances: deque[_Kept] = deque(maxlen=_KEPT)

    def clear(self) -> None:
        self._squares.clear()
        self._variances.clear()

    def note(self, call: Call) -> None:
        """After each call."""
        if not isinstance(call.result, Tensor) or not call.result.is_floating_point():
            return
        first, second = call.args[0], call.args[1] if len(call.args) > 1 else None
        if call.name == "exp":
            self._variances.append(_kept(call.result))
        elif call.name == "log":
            self._variances.append(_kept(first))
        elif (
            call.name == "square"
            or (call.name == "pow" and not isinstance(second, Tensor) and second == 2)
            or (call.name == "mul" and first is second)
        ):
            kept = _kept(call.result)
            self._squares.append(kept)
            self._variances.append(kept)

    def times(self, call: Call) -> float | None:
        """How many times the divergence `call` sums up or averages (-1: its negative); None if it is something else."""
        if call.name not in _REDUCES or not self._squares:
            return None
        terms = call.args[0]
        if terms.numel() < _FEWEST or terms.grad_fn is None or not terms.grad_fn.name().startswith(_ADDED_UP):
            return None
        shape, values = tuple(terms.shape), None
        for square in self._squares:
            for variance in self._variances:
                if variance is square or not (shape == square.shape == variance.shape):
                    continue
                values = _centred(_kept(terms).values) if values is None else values
                times = _matches(values, square.values, variance.values)
                if times is not None:
                    return times
        return None


def _matches(terms: Tensor, square: Tensor, variance: Tensor) -> float | None:
    of_variance, of_mean = _centred(variance.log() - variance), _centred(square)
    whole = of_variance - of_mean
    size = float(whole.norm())
    if not size > 0 or not min(float(of_variance.norm()), float(of_mean.norm())) > _PART * size:
        return None
    slope = float(terms @ whole) / size**2
    close = float((terms - slope * whole).norm()) <= _ACCURACY * abs(slope) * size
    return -2 * slope if close and slope else None


def _kept(tensor: Tensor) -> _Kept:
    with torch.no_grad():
        return _Kept(tuple(tensor.shape), tensor.detach().flatten()[:_LOOKED_AT].double())


def _centred(values: Tensor) -> Tensor:
    return values - values.mean()
