"""Hands batches to a run, and undoes what its steps do to them.

The same batch object is given to step after step. A step that pops a key or normalises in place must not find its own
changes the next time: containers are rebuilt for each step, and a tensor that was written to gets its old values back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from ...tensors.aside import Aside
from ...tensors.batches import fresh_containers, tensors, to_device
from ...training import Training, is_one_batch
from ..source.engine_frames import engine_frame
from .batch_guard import BatchGuard
from .loader_end import end_workers
from .written_views import WrittenViews


class NoData(ValueError):
    """The data yielded no batch, or one without tensors."""


class Feed:
    def __init__(
        self, training: Training, *, one_batch: bool, device: torch.device | None = None, begins_half_way: bool = False
    ) -> None:
        """`begins_half_way`: the first pass through a list begins in its middle. A loader has an order of its own."""
        self._data = training.data
        self._begins_half_way = begins_half_way and type(training.data) is list and not one_batch
        self._one_batch = one_batch
        self._needs_tensors = training.step is None
        # The user's own step moves its batches itself, as in the real loop.
        where = device or (training.device if training.step is None else None)
        self._device = None if where is None or where.type == "cpu" else where  # batches are made on the CPU
        self._single = is_one_batch(self._data)
        self._own = self._single or isinstance(self._data, list)
        self._unharmed = BatchGuard()
        self._views = WrittenViews()
        self._fresh = isinstance(self._data, DataLoader) and (
            self._data.num_workers > 0 or self._data.collate_fn is default_collate
        )
        self._ready: set[int] = set()
        self._first: Any = None
        self._iterator: Iterator[Any] | None = None
        #: Persistent workers belong to their loader, and may already be running when the loader is passed in.
        self._found = _persistent(self._data)
        self._count = 1
        self._join: Callable[[list[Any]], Any] | None = None
        self.position = -1
        #: Seconds it took to move the latest batch to the device.
        self.moving = 0.0
        #: Whether the latest batch had to wait for worker processes to start.
        self.starting = False

    @property
    def device(self) -> torch.device | None:
        """Where batches are moved to; None where they stay."""
        return self._device

    @engine_frame
    def take(self) -> Any:
        """The next batch, ready for a step."""
        self.starting = False
        batch = self._next()
        if id(batch) in self._ready:  # seen before, and nothing to prepare: the path that almost every step takes
            return batch
        if self._own or self._one_batch:
            with Aside():
                self._unharmed.keep(batch)
            if _is_plain(batch) and self._device is None:
                self._ready.add(id(batch))
                return batch
            batch = fresh_containers(batch)
        else:
            with Aside():
                self._views.watch(batch, self._fresh)
        if self._device is None:
            return batch
        began = time.perf_counter()
        moved = to_device(batch, self._device)
        self.moving = time.perf_counter() - began
        return moved

    def keep_ahead(self, steps: int) -> None:
        """Copies the batches of these steps now, so that copying does not show in a step's time and memory."""
        if self._single:
            self._unharmed.keep(self._data)
        elif isinstance(self._data, list):
            for batch in islice(list.__iter__(self._data), 1 if self._one_batch else steps * self._count):
                self._unharmed.keep(batch)

    def give_back(self) -> None:
        """After a step: undoes what it wrote into the batch."""
        with Aside():
            self._unharmed.restore()
            self._views.note()

    def close(self) -> None:
        """Undoes writes into the data, and ends the worker processes started for this feed: they would take processor
        time from later runs."""
        self._views.put_back()
        iterator, self._iterator = self._iterator, None
        if _persistent(self._data) is not self._found:
            self._data._iterator = None
        # torch ends the workers once nothing refers to their iterator; but the traceback of an error does, and a worker
        # that dies meanwhile makes torch raise wherever the main thread is: inside of pytest, say
        if iterator is not self._found:
            end_workers(iterator)

    def keeps(self, tensor: Tensor) -> bool:
        """Whether the tensor belongs to the data themselves, and is not a copy."""
        return self._own and tensor in self._unharmed

    def left(self, tensor: Tensor) -> Tensor | None:
        """What the latest step wrote into a tensor of the data, which has its old values again by now."""
        return self._unharmed.left(tensor) if self._own else None

    @property
    def source(self) -> Any:
        """The training's data, as the user passed them in."""
        return self._data

    @property
    def count(self) -> int | None:
        """How many batches there are, if the data have a length."""
        if self._single:
            return 1
        try:
            return len(self._data)
        except TypeError:
            return None

    def widen(self, count: int, join: Callable[[list[Any]], Any]) -> None:
        """From now on, hand out `count` batches at a time, joined into one."""
        self._count, self._join, self._own = count, join, False

    def preload(self, count: int) -> None:
        """Read the next `count` batches now, and hand them out again and again."""
        batches = [self._next() for _ in range(count)]
        self.close()
        self._data, self.position, self._own, self._join = batches, -1, True, None
        self._single, self._found = False, None
        self._ready.clear()  # new batches may get the same ids as the old ones

    def _next(self) -> Any:
        if self._join is None:
            return self._one()
        if not self._one_batch:
            return self._join([self._one() for _ in range(self._count)])
        if self._first is None:
            self._one_batch = False
            several = [self._one() for _ in range(self._count)]
            self._first, self._one_batch = self._join(several), True
            self.close()
        return self._first

    @engine_frame
    def _one(self) -> Any:
        if self._single:
            return self._data
        if self._one_batch and self._first is not None:
            return self._first
        if self._iterator is None:
            self._iterator = iter(self._data)
            if self._begins_half_way:
                self._begins_half_way, half = False, len(self._data) // 2
                self._iterator, self.position = islice(self._iterator, half, None), half - 1
            self.starting = bool(getattr(self._data, "num_workers", 0))
        try:
            batch = next(self._iterator)
            self.position += 1
        except StopIteration:
            if self.position < 0:
                raise NoData(f"Training: data is empty ({type(self._data).__name__} gave no batch)") from None
            self._iterator, self.position = None, -1
            return self._one()
        # a step of one's own knows what its batches are: trees, texts, molecules
        if self._needs_tensors and id(batch) not in self._ready and next(tensors(batch), None) is None:
            raise NoData(f"Training: batch {self.position} of data has no tensor in it ({type(batch).__name__})")
        if self._one_batch:
            self._first = batch
            self.close()
        return batch


def _persistent(data: Any) -> Any:
    """The iterator, and with it the workers, that a DataLoader keeps between epochs."""
    return getattr(data, "_iterator", None) if isinstance(data, DataLoader) else None


def _is_plain(batch: Any) -> bool:
    """A tensor or a tuple of tensors: nothing that a step could pop from or add to."""
    return isinstance(batch, Tensor) or (type(batch) is tuple and all(isinstance(part, Tensor) for part in batch))
