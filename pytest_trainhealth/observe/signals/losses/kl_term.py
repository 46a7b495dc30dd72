"""Recognises the KL term of a variational autoencoder by its values, however its formula is written.

It is 0.5 * (mean^2 + var - log(var) - 1), one term per latent. The squares and the positive tensors of a step are
kept; a tensor that is summed up is compared with each pair of them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor

from ...calls.torch_calls import Call

_REDUCES = {"sum", "mean"}
#: The terms must themselves be the result of one of these: squares alone (an RMS norm) are not examined.
_ADDED_UP = ("Add", "Sub", "Rsub", "Mul", "Div", "Neg")
#: Fewest and most values that are compared. By judgement: fewer than 8 may agree by chance, 1,000 are conclusive.
_FEWEST, _LOOKED_AT = 8, 1000
#: How many recent tensors are kept: the parts of the formula are computed close to one another. By judgement: 8, for
#: two encoders with four parts each.
_KEPT = 8
#: In float32 the terms of a new encoder (0.01 and less) differ by rounding of 1e-5 of their spread. Leaving out one
#: part of the formula changes them by at least `_PART`.
_ACCURACY = 1e-2
#: As a share of the spread of the whole: five times what rounding and `_ACCURACY` = 0.01 allow.
_PART = 0.05


@dataclass
class _Kept:
    shape: tuple[int, ...]
    values: Tensor


class Divergences:
    """Finds KL divergences of diagonal Gaussians from the standard one among tensors that are summed up or averaged."""

    def __init__(self) -> None:
        self._squares: deque[_Kept] = deque(maxlen=_KEPT)
        self._variances: deque[_Kept] = deque(maxlen=_KEPT)

    def clear(self) -> None:
        self._squares.clear()
        self._variances.clear()

    def note(self, call: Call) -> None:
        """To be called after each torch call."""
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
        """By which factor the divergence that `call` sums up is multiplied (-1: its negative); None if it is none."""
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
