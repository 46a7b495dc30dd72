"""What is computed in float16 or bfloat16, and how large it gets."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ....records.numbers import HalfRecord
from ...calls.torch_calls import CallSignal
from ...run.signal import Cost
from ...source.places import user_place

_HALVES = {torch.float16: "float16", torch.bfloat16: "bfloat16"}
#: An Inf written by one of these is intended.
_FILLS = {"fill_", "fill", "full", "full_like", "masked_fill", "masked_fill_", "where", "new_full", "triu", "tril"}


class HalfPrecision(CallSignal):
    NAME, COST = "half_precision", Cost.CLOSE

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if not isinstance(result, Tensor) or result.dtype not in _HALVES or not result.numel():
            return
        dtype = _HALVES[result.dtype]
        record = self._run.trace.numbers.halves.get(dtype)
        if record is None:
            record = self._run.trace.numbers.halves[dtype] = HalfRecord(dtype, name, module, place=user_place())
        record.calls += 1
        with torch.no_grad():
            values = result.detach().float()
            finite = torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
            record.largest = max(record.largest, float(finite.abs().max()))
            infinite = torch.isinf(values)
            # one that leaves something is told until one comes that leaves nothing of what went in
            given = [a for a in args if isinstance(a, Tensor)]
            whole = values.numel() > 1 and bool(infinite.all()) and bool(given)
            noted = record.overflows_whole or (bool(record.overflow) and not whole)
            if noted or name in _FILLS or not bool(infinite.any()):
                return
            if all(bool(torch.isfinite(a).all()) for a in given if a.is_floating_point()):
                record.overflow = f"{name.strip('_')} in {module}" if module else name.strip("_")
                record.overflow_place, record.overflows_whole = user_place(), whole
