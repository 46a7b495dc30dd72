"""The loss of a step that does not say it: what `backward()` was called on, or else `torch.autograd.grad()`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor
from torch.optim import Optimizer

from ...tensors.readable import values_of
from ..source.authorship import is_library_file
from .events import Listener
from .given_gradients import begins_at


class SeenLosses(Listener):
    """Of the current step of a run whose step is the user's own and may return nothing."""

    ONLY_LOOKS = True

    def __init__(self) -> None:
        #: By line: several losses may have a pass each, and a line that is run again accumulates, or tries once more.
        self._backward: dict[object, float] = {}
        self._derived: dict[object, float] = {}
        #: Whether anything was learnt from in this step: a pass, derivatives, or an update.
        self.learnt = False

    def step_begins(self, batch: object) -> None:
        self._backward.clear()
        self._derived.clear()
        self.learnt = False

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self.learnt = True

    def backward_begins(self, roots: list[Tensor]) -> None:
        self.learnt = True
        value = value_of(roots)
        if value is not None:
            self._backward[running_line()] = value

    def derivatives_taken(
        self, roots: Sequence[Tensor], inputs: Sequence[Tensor], derivatives: Sequence[object]
    ) -> None:
        """Of one number with regard to parameters; a penalty on the gradients of inputs is no loss by itself."""
        root = roots[0] if len(roots) == 1 else None
        if not isinstance(root, Tensor) or root.numel() != 1:
            return
        if is_functorch_wrapped_tensor(root):
            root = get_unwrapped(root)
        elif not any(isinstance(each, nn.Parameter) or each.is_leaf for each in inputs):
            return
        self.learnt = True
        value = None if is_functorch_wrapped_tensor(root) else value_of([root])
        if value is not None:
            self._derived[running_line()] = value

    @property
    def latest(self) -> float | None:
        """None if there was none that is a number."""
        found = self._backward or self._derived
        return sum(found.values()) if found else None


def value_of(roots: Sequence[Any]) -> float | None:
    """The loss that a pass starts from: the sum of its roots. None if they are no numbers."""
    roots = [begins_at(root) if isinstance(root, Tensor) else root for root in roots]
    if len(roots) == 1 and type(roots[0]) is Tensor and not roots[0].ndim and roots[0].is_floating_point():
        return None if roots[0].is_meta else float(roots[0].detach())  # as almost always
    values = [values_of(root) for root in roots if isinstance(root, Tensor)]
    if not values or any(value is None or value.is_complex() for value in values):
        return None
    return sum(float(value if value.numel() == 1 else value.sum()) for value in values if value is not None)


def running_line() -> object:
    """The line of the user's code that is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
