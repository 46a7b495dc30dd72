"""Where the size of weights is added to the loss; at step 0."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ...calls.functions import PENALTIES
from ...calls.torch_calls import CallSignal
from ...run.signal import Cost
from ...source.places import user_place


class Penalties(CallSignal):
    NAME, COST = "penalties", Cost.CLOSE

    def wanted(self) -> bool:
        return self._run.step == 0

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        carries = isinstance(result, Tensor) and result.requires_grad
        if name in PENALTIES and not module and isinstance(args[0], nn.Parameter) and carries:
            place = user_place()
            if place is not None and place not in self._run.trace.numbers.penalties:
                self._run.trace.numbers.penalties.append(place)
