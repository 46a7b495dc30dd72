"""Divides the inputs of a saturated sigmoid or tanh by their size at the first step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode

_SIGMOIDS = {torch.sigmoid, torch.sigmoid_, torch.Tensor.sigmoid, torch.Tensor.sigmoid_, F.sigmoid}
_BOUNDED = {*_SIGMOIDS, torch.tanh, torch.tanh_, torch.Tensor.tanh, torch.Tensor.tanh_, F.tanh}
#: With inputs of a root mean square beyond this, more than half of the outputs may be saturated. Of a normal
#: distribution with this spread, a sigmoid has 32 % beyond 3 and below -3, a tanh 50 % beyond +-2.
_LARGE = 3.0


class Unsaturated(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._scaled = _Scaled()
        stack.enter_context(self._scaled)

    def step_begins(self, batch: object) -> None:
        self._scaled.seen = 0


class _Scaled(FunctionMode):
    """A call is identified by its position among those of a step; its divisor stays that of the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self._divisors: dict[int, float] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in _BOUNDED and args and isinstance(args[0], Tensor) and args[0].numel():
            given = args[0]
            if self.seen not in self._divisors:
                size = float(given.detach().float().square().mean().sqrt())
                self._divisors[self.seen] = size if _LARGE < size < float("inf") else 1.0
            divisor = self._divisors[self.seen]
            self.seen += 1
            if divisor != 1.0:
                return torch.sigmoid(given / divisor) if func in _SIGMOIDS else torch.tanh(given / divisor)
        return func(*args, **(kwargs or {}))
