"""Which parameter a gradient belongs to, by its memory.

Kept up to date as gradients are exchanged: looking through all parameters at each write would take a model of 50,000
tensors, clipped one by one, 50,000 times 50,000 looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

_WRITE: Any = getattr(Tensor.grad, "__set__")  # noqa: B009 - torch says that it is a tensor


def sets_grad(func: Any) -> bool:
    return getattr(func, "__name__", "") == "__set__" and func == _WRITE


class GradientOwners:
    def __init__(self, parameters: Iterable[Tensor]) -> None:
        """`parameters`: all of them have gradients."""
        self._memory = {id(p): p.grad.data_ptr() for p in parameters if p.grad is not None}
        self._owners = {memory: owner for owner, memory in self._memory.items()}

    def of(self, written: Iterable[Tensor]) -> list[int]:
        """The ids of the parameters whose gradients are among these."""
        places = (tensor.data_ptr() for tensor in written)
        return [self._owners[place] for place in places if place in self._owners]

    def exchanged(self, parameter: Tensor, grad: Any) -> None:
        """`parameter.grad = grad` was executed."""
        known = self._memory.pop(id(parameter), None)
        if known is None:
            return
        self._owners.pop(known, None)
        if isinstance(grad, Tensor) and not grad.is_sparse:
            self._memory[id(parameter)] = grad.data_ptr()
            self._owners[grad.data_ptr()] = id(parameter)
