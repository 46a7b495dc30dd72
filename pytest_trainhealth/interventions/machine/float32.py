"""Computes everything in float32: autocast is off; half-precision models, batches and casts become float32."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import map_tensors
from ...tensors.function_modes import FunctionMode

_HALVES = (torch.float16, torch.bfloat16)


class Float32(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        self._models: set[int] = set()
        run.batch_changes.append(lambda batch: map_tensors(_whole, batch))
        original = torch.autocast.__enter__
        stack.callback(setattr, torch.autocast, "__enter__", original)

        def entered(context: Any) -> Any:
            context._enabled = False
            return original(context)  # type: ignore[no-untyped-call]

        torch.autocast.__enter__ = entered  # type: ignore[method-assign]
        stack.enter_context(_Whole())

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for model in self._run.models.values():
            if id(model) not in self._models:
                self._models.add(id(model))
                with torch.no_grad():
                    for tensor in (*model.parameters(), *model.buffers()):
                        if tensor.dtype in _HALVES:
                            self._stack.callback(_put_back, tensor, tensor.dtype)
                            tensor.data = tensor.data.float()


def _put_back(tensor: Tensor, dtype: torch.dtype) -> None:
    tensor.grad = None
    with torch._C.DisableTorchFunction():  # otherwise our mode would turn this into float32 again
        tensor.data = tensor.data.to(dtype)


class _Whole(FunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.half, torch.Tensor.bfloat16):
            func = torch.Tensor.float
        args, kwargs = tree_map(_not_half, (args, kwargs or {}))
        return func(*args, **kwargs)


def _not_half(value: Any) -> Any:
    return torch.float32 if isinstance(value, torch.dtype) and value in _HALVES else value


def _whole(name: str, tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in _HALVES else tensor
