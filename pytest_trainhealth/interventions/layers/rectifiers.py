"""Replaces hidden sigmoid and tanh by leaky rectifiers, and reinitialises the layers to fit them.

The last one may be the output: it stays.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
import torch.nn.functional as F

from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode
from . import reinitialise

_BOUNDED = {torch.sigmoid, torch.Tensor.sigmoid, F.sigmoid, torch.tanh, torch.Tensor.tanh, F.tanh}


class Rectifiers(reinitialise.Reinitialise):
    def __init__(self, run: Run, stack: ExitStack, hidden: int) -> None:
        super().__init__(run, stack)
        self._exchange = _Exchange(hidden)
        stack.enter_context(self._exchange)

    def step_begins(self, batch: object) -> None:
        self._exchange.seen = 0
        super().step_begins(batch)


class _Exchange(FunctionMode):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self._hidden = hidden
        self.seen = 0

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in _BOUNDED:
            self.seen += 1
            if self.seen <= self._hidden:
                return F.leaky_relu(args[0], 0.1)
        return func(*args, **(kwargs or {}))
