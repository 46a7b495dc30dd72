"""Restores the gradients that backward() computed before each update, whatever was written into them since."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.calls.functions import UNSCALE
from ...observe.calls.gradient_owners import sets_grad
from ...observe.calls.own_scaling import OwnScaling
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode
from ...tensors.norms import norms

Unscaled = Callable[[Iterable[Tensor], Any], None]


class UnclippedGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._kept: dict[int, Tensor] = {}
        self._own_scaling = OwnScaling()
        stack.enter_context(_Unscaling(self._unscaled, self._own_scaling))

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._own_scaling.pass_begins(roots)

    def backward_ends(self) -> None:
        held = [p for o in self._run.optimizers.values() for group in o.param_groups for p in group["params"]]
        self._kept = {id(p): p.grad.detach().clone() for p in held if p.grad is not None}

    def _unscaled(self, grads: Iterable[Tensor], factor: Any) -> None:
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
    """Sees a loss scaler at work: torch's, or one that the loop has made itself."""

    def __init__(self, unscaled: Unscaled, own_scaling: OwnScaling) -> None:
        super().__init__()
        self._unscaled, self._own_scaling = unscaled, own_scaling

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        before = args[0].grad if sets_grad(func) else None
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name == UNSCALE:
            self._unscaled(args[0], args[2])
        elif sets_grad(func):
            self._exchanged(before, args[1])
        elif (factor := self._own_scaling.removed_by(name, args)) is not None:
            written = [args[0]] if isinstance(args[0], Tensor) else args[0]
            self._unscaled(written, 1 / factor)
        return result

    def _exchanged(self, before: Tensor | None, after: Tensor | None) -> None:
        if before is None or after is None or before.is_sparse or before.data_ptr() == after.data_ptr():
            return
        factor = self._own_scaling.removed_between(*norms([before, after]))
        if factor is not None:
            self._unscaled([after], 1 / factor)
