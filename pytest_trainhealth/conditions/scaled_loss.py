"""A loss scale: gradients are larger all the way through the backward pass, and divided again before they are used."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from ..observe.run import Run


class listener:
    def __init__(self, run: Run, stack: ExitStack, factor: float) -> None:
        self._factor = factor
        self._handles: list[RemovableHandle] = []

    def backward_begins(self, roots: list[Tensor]) -> None:
        for root in roots:
            if root.requires_grad and root.grad_fn is not None:
                handle = root.register_hook(lambda gradient: gradient * self._factor)  # type: ignore[no-untyped-call]
                self._handles.append(handle)

    def backward_ends(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        _multiply(optimizer, 1 / self._factor)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        _multiply(optimizer, self._factor)  # whoever accumulates finds what was there


def _multiply(optimizer: Optimizer, factor: float) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.mul_(factor)
