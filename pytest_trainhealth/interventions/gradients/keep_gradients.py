"""Gradients that are cleared between backward() and step() are there again: zero_grad() does nothing then, and what was
set to 0 or to None by hand comes back."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.plain import is_plain


class KeepGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        #: Optimizers that have not stepped since the last backward pass.
        self._fresh: set[int] = set()
        #: By optimizer, what the last backward pass has left for it.
        self._left: dict[int, list[Tensor | None]] = {}
        run.refuses_clearing = self._refuses

    def _refuses(self, holder: Any) -> bool:
        return id(holder) in self._fresh if isinstance(holder, Optimizer) else bool(self._fresh)

    def backward_ends(self) -> None:
        optimizers = self._run.optimizers.values()
        self._fresh = set(map(id, optimizers))
        self._left = {id(each): [_copied(parameter) for parameter in _held(each)] for each in optimizers}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Only where nothing at all is left: a single gradient that is 0 may have been meant."""
        left = self._left.pop(id(optimizer), [])
        held = _held(optimizer)
        if has_closure or any(_is_something(parameter.grad) for parameter in held):
            return
        self._run.trace.applied.restored_gradients = True
        for parameter, gradient in zip(held, left, strict=False):
            if gradient is not None:
                parameter.grad = gradient

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if id(optimizer) in self._fresh:
            # make up for the zero_grad() that was prevented: the next backward pass starts from zero
            self._fresh.discard(id(optimizer))
            optimizer.zero_grad()


def _held(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _copied(parameter: Tensor) -> Tensor | None:
    return None if parameter.grad is None else parameter.grad.detach().clone()


def _is_something(gradient: Tensor | None) -> bool:
    return gradient is not None and (not is_plain(gradient) or bool(gradient.detach().any()))
