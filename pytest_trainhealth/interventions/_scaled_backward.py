"""A backward pass that starts with a factor other than 1; base of cures that flip a sign or scale a loss."""

from __future__ import annotations

from torch import Tensor
from torch.utils.hooks import RemovableHandle

from ..observe.run.events import Listener
from ..observe.run.given_gradients import begins_at


class ScaledBackward(Listener):
    def __init__(self, factor: float) -> None:
        self.factor = factor
        self._handles: list[RemovableHandle] = []

    def backward_begins(self, roots: list[Tensor]) -> None:
        for root in map(begins_at, roots):
            if root.requires_grad and root.grad_fn is not None:
                handle = root.register_hook(lambda gradient: gradient * self.factor)  # type: ignore[no-untyped-call]
                self._handles.append(handle)

    def backward_ends(self) -> None:
        while self._handles:
            self._handles.pop().remove()
