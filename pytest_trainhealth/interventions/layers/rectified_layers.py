"""Adds a rectifier after every layer but the last of a model without activation functions."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from ...observe.calls.functions import WEIGHING
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode


class RectifiedLayers(Listener):
    """`layers`: how many there are; each call of the model goes through all of them, in order."""

    def __init__(self, run: Run, stack: ExitStack, layers: int) -> None:
        self._rectified = _Rectified(layers)
        stack.enter_context(self._rectified)

    def step_begins(self, batch: object) -> None:
        self._rectified.seen = 0


class _Rectified(FunctionMode):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self._layers = layers
        self.seen = 0

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") not in WEIGHING or len(args) < 2 or not isinstance(args[1], Tensor):
            return result
        weight = args[1] if isinstance(args[1], nn.Parameter) else args[1]._base
        if not isinstance(weight, nn.Parameter):
            return result
        self.seen += 1
        return result if self.seen % self._layers == 0 else F.leaky_relu(result, 0.1)
