"""Restores the gradients that backward() computed before each update, whatever was written into them since."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.calls.functions import UNSCALE
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode


class UnclippedGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._kept: dict[int, Tensor] = {}
        stack.enter_context(_Unscaling(self._unscaled))

    def backward_ends(self) -> None:
        held = [p for o in self._run.optimizers.values() for group in o.param_groups for p in group["params"]]
        self._kept = {id(p): p.grad.detach().clone() for p in held if p.grad is not None}

    def _unscaled(self, grads: list[Tensor], factor: Tensor) -> None:
        """A loss scaler divides by its factor again: that is not clipping."""
        pointers = {grad.data_ptr() for grad in grads}
        for optimizer in self._run.optimizers.values():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if id(p) in self._kept and p.grad is not None and p.grad.data_ptr() in pointers:
                        self._kept[id(p)] *= factor

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure:
            return
        with torch.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    kept = self._kept.pop(id(p), None)
                    if kept is not None and p.grad is not None:
                        p.grad.copy_(kept)


class _Unscaling(FunctionMode):
    def __init__(self, unscaled: Any) -> None:
        super().__init__()
        self._unscaled = unscaled

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") == UNSCALE:
            self._unscaled(args[0], args[2])
        return result
