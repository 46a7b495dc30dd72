"""Rectifiers pass a tenth of values below 0."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
import torch.nn.functional as F

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode

_RECTIFIERS = {torch.relu, torch.relu_, torch.Tensor.relu, torch.Tensor.relu_, F.relu, F.relu_}


class LeakyRectifiers(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        stack.enter_context(_Leaky())


class _Leaky(FunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in _RECTIFIERS:
            return F.leaky_relu(args[0] if args else (kwargs or {})["input"], 0.1)
        return func(*args, **(kwargs or {}))
