"""What dropout sets to 0; at step 0."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ....records.numbers import DropoutRecord
from ...calls.functions import DROPOUTS
from ...calls.torch_calls import Call, CallSignal
from ...run.signal import Cost
from ...source.places import user_place

#: Dropouts that are looked at. By judgement: one that is too strong is as a rule so everywhere.
_MOST = 32


class Dropouts(CallSignal):
    NAME, COST = "dropouts", Cost.CLOSE

    def wanted(self) -> bool:
        return self._run.step == 0

    def called(self, call: Call) -> None:
        if call.name.rstrip("_") in DROPOUTS and not _is_off(call):
            super().called(call)

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if not isinstance(result, Tensor) or not result.numel():
            return
        with torch.no_grad():
            share = _dropped(args[0], result)
        if share > 0 and len(self._run.trace.numbers.dropouts) < _MOST:
            self._run.trace.numbers.dropouts.append(DropoutRecord(share, module, user_place()))


def _is_off(call: Call) -> bool:
    """In evaluation it gives back what it is given, zeros included, as dropout in place does."""
    given = call.args[2] if len(call.args) > 2 else True  # torch.dropout(input, p, train)
    return not call.kwargs.get("training", call.kwargs.get("train", given))


def _dropped(given: Tensor, result: Tensor) -> float:
    """Share of the values that are 0 now and were not before. (After dropout in place the old values are unknown.)"""
    lost = result == 0
    if given is not result and given.shape == result.shape:
        lost = lost[given != 0]
    return float(lost.float().mean()) if lost.numel() else 0.0
