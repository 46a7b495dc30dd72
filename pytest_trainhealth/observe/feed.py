"""Hands batches to a run and takes them back unharmed.

The same batch object is given to step after step, so a step that pops a key or normalises in place must not find
its own traces the next time: containers are built anew for each step, and a tensor that was written to (its version
counter tells, for free) gets its values back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..batches import fresh_containers, tensors, to_device
from ..training import Training, is_one_batch


class NoData(ValueError):
    """The data gave no batch, or one without tensors."""


class Feed:
    def __init__(self, training: Training, *, one_batch: bool, device: torch.device | None = None) -> None:
        self._data = training.data
        self._one_batch = one_batch
        # A step of the user's own moves its batches itself, as in its real loop.
        where = device or (training.device if training.step is None else None)
        self._device = None if where is None or where.type == "cpu" else where  # batches are made on the CPU
        self._own = is_one_batch(self._data) or isinstance(self._data, list)
        self._kept: dict[int, tuple[Tensor, int, Tensor]] = {}
        self._ready: set[int] = set()
        self._first: Any = None
        self._iterator: Iterator[Any] | None = None
        self._count = 1
        self._join: Callable[[list[Any]], Any] | None = None
        self.position = -1
        #: Seconds that the latest batch took to be moved to the device.
        self.moving = 0.0

    def take(self) -> Any:
        """The next batch, ready for a step."""
        batch = self._next()
        if id(batch) in self._ready:  # nothing to prepare, and it was looked at before: this is every step's path
            return batch
        if self._own or self._one_batch:
            self._keep(batch)
            if _is_plain(batch) and self._device is None:
                self._ready.add(id(batch))
                return batch
            batch = fresh_containers(batch)
        if self._device is None:
            return batch
        began = time.perf_counter()
        moved = to_device(batch, self._device)
        self.moving = time.perf_counter() - began
        return moved

    def give_back(self) -> None:
        """After a step: what it wrote into the batch is undone."""
        for key, (tensor, version, value) in self._kept.items():
            if tensor._version != version:
                with torch.no_grad():
                    tensor.copy_(value)
                self._kept[key] = (tensor, tensor._version, value)

    def keeps(self, tensor: Tensor) -> bool:
        """It is the data's own, no copy."""
        return self._own and id(tensor) in self._kept

    @property
    def data(self) -> Any:
        return self._data

    @property
    def source(self) -> Any:
        """The data themselves."""
        return self._data

    @property
    def count(self) -> int | None:
        """How many batches there are, where the data say so."""
        if is_one_batch(self._data):
            return 1
        try:
            return len(self._data)
        except TypeError:
            return None

    def widen(self, count: int, join: Callable[[list[Any]], Any]) -> None:
        """From now on `count` batches at a time, joined into one."""
        self._count, self._join, self._own = count, join, False

    def preload(self, count: int) -> None:
        """The next `count` batches are read now, and given again and again."""
        self._data = [self._next() for _ in range(count)]
        self._iterator, self.position, self._own = None, -1, False

    def _next(self) -> Any:
        if self._join is None:
            return self._one()
        if not self._one_batch:
            return self._join([self._one() for _ in range(self._count)])
        if self._first is None:
            self._one_batch = False
            several = [self._one() for _ in range(self._count)]
            self._first, self._one_batch, self._iterator = self._join(several), True, None
        return self._first

    def _one(self) -> Any:
        if is_one_batch(self._data):
            return self._data
        if self._one_batch and self._first is not None:
            return self._first
        if self._iterator is None:
            self._iterator = iter(self._data)
        try:
            batch = next(self._iterator)
            self.position += 1
        except StopIteration:
            if self.position < 0:
                raise NoData(f"Training: data is empty ({type(self._data).__name__} gave no batch)") from None
            self._iterator, self.position = None, -1
            return self._one()
        if next(tensors(batch), None) is None:
            raise NoData(f"Training: batch {self.position} of data has no tensor in it ({type(batch).__name__})")
        if self._one_batch:
            self._first, self._iterator = batch, None
        return batch

    def _keep(self, batch: Any) -> None:
        for _, tensor in tensors(batch):
            if id(tensor) not in self._kept and not tensor.is_inference():
                self._kept[id(tensor)] = (tensor, tensor._version, tensor.detach().clone())


def _is_plain(batch: Any) -> bool:
    """A tensor or a tuple of tensors: nothing that a step could pop from or add to."""
    return isinstance(batch, Tensor) or (type(batch) is tuple and all(isinstance(part, Tensor) for part in batch))
