"""A loader that cuts its batches out of one tensor, or keeps them, hands out data that a step may write into.

Within a run that stays as it is: the next epoch of the user's own training would find it as well. At the end of the run
the data get their old values back. Batches that were put together from samples are copies already.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...tensors.batches import tensors
from ...tensors.plain import is_plain
from ...tensors.readable import is_ordinary

_Region = tuple[int, tuple[int, ...], tuple[int, ...]]


class WrittenViews:
    def __init__(self) -> None:
        #: View, version and values, as they were handed out.
        self._handed_out: list[tuple[Tensor, int, Tensor]] = []
        self._written: dict[_Region, tuple[Tensor, Tensor]] = {}

    def watch(self, batch: Any, fresh: bool) -> None:
        """The values are copied now: a version counter shows that there was a write, when the old values are gone.

        `fresh`: whoever made the batch put it together from samples, so that only views of it may be data.
        """
        self._handed_out = [
            (tensor, tensor._version, tensor.detach().clone())
            for _, tensor in tensors(batch)
            if (_is_view(tensor) if fresh else _can_be_copied(tensor)) and _region(tensor) not in self._written
        ]

    def note(self) -> None:
        """After a step: keeps what it wrote over."""
        for tensor, version, values in self._handed_out:
            if tensor._version != version and tensor.shape == values.shape:
                self._written[_region(tensor)] = (tensor.detach(), values)
        self._handed_out = []

    def put_back(self) -> None:
        """Backwards, because views may overlap."""
        with torch.no_grad():
            for tensor, values in reversed(self._written.values()):
                tensor.copy_(values)
        self._written.clear()


def _can_be_copied(tensor: Tensor) -> bool:
    return is_plain(tensor) and not tensor.is_nested and is_ordinary(tensor)


def _is_view(tensor: Tensor) -> bool:
    return _can_be_copied(tensor) and tensor._is_view()


def _region(tensor: Tensor) -> _Region:
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()
