"""Summarises a tensor that a loss function was given, and counts the targets that the function can use."""

from __future__ import annotations

from math import isfinite, prod

import torch
from torch import Tensor

from ....records.loss_functions import BINARY, SIGNED
from ....records.losses import LossCall, TensorSummary
from ...calls.torch_calls import Call

#: How many values are examined to count different ones. By judgement: 1,000 are enough to tell classes from numbers.
_LOOKED_AT = 1000
#: How far rounding may take a value beyond 1, or a logarithm above 0. By judgement: float16 has three digits, float32
#: seven.
_ROUNDING = 1e-4
#: How far the sum of a row may be from 1. By judgement: a row of some hundred float16 values adds up to 1 within 1 %.
_SUM_TO_ONE = 1e-2


def given_by(tensor: Tensor, dim: int | None = None) -> TensorSummary:
    values = tensor.detach()
    shape, dtype = tuple(values.shape), str(values.dtype).removeprefix("torch.")
    if not values.numel() or values.is_complex() or values.layout != torch.strided:
        return TensorSummary(shape, dtype)
    low, high = float(values.min()), float(values.max())
    few = values.flatten()[:_LOOKED_AT]
    given = TensorSummary(shape, dtype, low, high)
    if values.is_floating_point() and isfinite(high - low):
        given.std = float(values.double().std(correction=0))
    given.whole = not few.is_floating_point() or bool((few == few.round()).all())
    given.distinct = torch.unique(few).numel()
    # a target that the function refuses may have fewer dimensions than its input
    has_rows = dim is not None and values.is_floating_point() and dim < values.ndim > 0 and values.shape[dim] > 1
    if has_rows and low >= 0 and high <= 1 + _ROUNDING:
        sums = values.double().sum(dim)
        given.probabilities, given.row_sums = _all_one(sums), (float(sums.min()), float(sums.max()))
    return given


def _all_one(sums: Tensor) -> bool:
    return bool(((sums - 1).abs() < _SUM_TO_ONE).all())


def terms(record: LossCall, input: Tensor, target: Tensor) -> int:
    if record.classes is not None:
        return target.numel() if not target.is_floating_point() else max(input.numel() // max(record.classes, 1), 1)
    try:
        return prod(torch.broadcast_shapes(input.shape, target.shape))  # type: ignore[no-untyped-call]
    except RuntimeError:
        return target.numel()


def count_invalid(call: Call, record: LossCall, target: Tensor) -> None:
    if record.classes is not None and not target.is_floating_point():
        value = int(call.kwargs.get("ignore_index", -100))
        ignored = target == value
        record.ignored_class = value if 0 <= value < record.classes else None
        record.ignored = float(ignored.float().mean())
        record.terms = int((~ignored).sum())
        record.invalid = int((((target < 0) | (target >= record.classes)) & ~ignored).sum())
    elif call.name in BINARY:
        record.invalid = int(((target < 0) | (target > 1)).sum())
    elif call.name in SIGNED:
        record.invalid = int((target.abs() != 1).sum())
