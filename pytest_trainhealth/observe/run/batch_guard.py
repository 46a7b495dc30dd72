"""Protects tensors that are given to step after step: what one step wrote into them is undone before the next.

A tensor's version counter shows, at no cost, that it was written to. The old values are gone by then, so they are
copied beforehand.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...tensors.batches import tensors


class BatchGuard:
    def __init__(self) -> None:
        self._kept: dict[int, tuple[Tensor, int, Tensor]] = {}
        #: The same memory in its first shape, which a step may change as well: `x.unsqueeze_(1)`.
        self._shaped: dict[int, Tensor] = {}
        #: The values that the latest step had left, of those tensors it wrote to.
        self._left: dict[int, Tensor] = {}

    def __contains__(self, tensor: Tensor) -> bool:
        return id(tensor) in self._kept

    def keep(self, batch: Any) -> None:
        for _, tensor in tensors(batch):
            if id(tensor) not in self._kept and not tensor.is_inference():
                self._kept[id(tensor)] = (tensor, tensor._version, tensor.detach().clone())
                self._shaped[id(tensor)] = tensor.data

    def left(self, tensor: Tensor) -> Tensor | None:
        """What the latest step made of it, if it wrote to it."""
        return self._left.get(id(tensor))

    def restore(self) -> None:
        self._left.clear()
        for key, (tensor, version, value) in self._kept.items():
            if tensor._version != version:
                self._left[key] = tensor.detach().clone()
                if not tensor.is_nested and tensor.shape != value.shape:
                    tensor.data = self._shaped[key]
                with torch.no_grad():
                    tensor.copy_(value)
                self._kept[key] = (tensor, tensor._version, value)
