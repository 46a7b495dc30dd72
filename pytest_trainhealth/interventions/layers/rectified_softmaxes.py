"""Replaces a softmax between two layers by a leaky rectifier."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch.nn.functional as F

from ...observe.calls.torch_calls import function_name
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_stack import ModuleStack
from ...tensors.function_modes import FunctionMode


class RectifiedSoftmaxes(Listener):
    """`calls`: the module that calls it and the number of the call in a step, such as 'net.3:softmax:1'."""

    def __init__(self, run: Run, stack: ExitStack, calls: Sequence[str]) -> None:
        self._run, self._stack = run, stack
        self._exchange: _Exchange | None = None
        self._calls = frozenset(calls)

    def step_begins(self, batch: object) -> None:
        if self._exchange is None and self._run.models:
            modules = ModuleStack(self._run.models)
            self._stack.enter_context(modules.kept())
            self._exchange = self._stack.enter_context(_Exchange(self._calls, modules))
        if self._exchange is not None:
            self._exchange.counts.clear()


class _Exchange(FunctionMode):
    def __init__(self, calls: frozenset[str], modules: ModuleStack) -> None:
        super().__init__()
        self._calls, self._modules = calls, modules
        self.counts: dict[str, int] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if function_name(func) == "softmax" and args:
            place = f"{self._modules.current}:softmax"
            count = self.counts[place] = self.counts.get(place, 0) + 1
            if f"{place}:{count}" in self._calls:
                return F.leaky_relu(args[0], 0.1)
        return func(*args, **(kwargs or {}))
