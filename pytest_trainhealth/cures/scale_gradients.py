"""Every backward pass starts with another factor: -1 turns a sign, 1/N makes a mean of a sum."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor
from torch.utils.hooks import RemovableHandle

from ..observe.run import Run


class listener:
    def __init__(self, run: Run, stack: ExitStack, factor: float, tells: bool = False) -> None:
        """`tells`: the loss that is told is multiplied too."""
        self._run, self._factor, self._tells = run, factor, tells
        self._handles: list[RemovableHandle] = []
        run.trace.loss_cured_by = "scale_gradients"

    def backward_begins(self, roots: list[Tensor]) -> None:
        for root in roots:
            if root.requires_grad and root.grad_fn is not None:
                handle = root.register_hook(lambda gradient: gradient * self._factor)  # type: ignore[no-untyped-call]
                self._handles.append(handle)

    def backward_ends(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def step_ends(self) -> None:
        if self._tells:
            self._run.trace.losses[-1] *= self._factor
