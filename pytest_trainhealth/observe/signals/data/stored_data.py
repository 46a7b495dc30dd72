"""The tensors and arrays in which a dataset stores its samples, and the lines that write into them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, Subset

from ....records.verdict import Place
from ....tensors.aside import Aside
from ....tensors.function_modes import FunctionMode
from ....tensors.plain import is_plain
from ....tensors.storage import memory_of
from ...source.authorship import package_of
from ...source.places import user_place

#: Larger datasets are not examined: comparing and copying them would take too long. By judgement: 16 MB of float32.
_MOST_VALUES = 4_000_000
#: Most samples in a list. By judgement: a list of more than 4,096 is a large dataset.
_MOST_TENSORS = 4096


class Stored:
    """A tensor or array in which a dataset keeps its samples, with a copy of its present values."""

    def __init__(self, name: str, values: Any) -> None:
        self.name, self.values = name, values
        self.value = values.detach().clone() if isinstance(values, Tensor) else values.copy()
        self._version = values._version if isinstance(values, Tensor) else 0

    @property
    def changed(self) -> bool:
        if isinstance(self.values, Tensor):
            return bool(self.values._version != self._version)
        return not np.array_equal(self.values, self.value, equal_nan=self.values.dtype.kind == "f")

    def put_back(self) -> None:
        if not self.changed:
            return
        if isinstance(self.values, Tensor):
            with torch.no_grad():
                self.values.copy_(self.value)
            self._version = self.values._version
        else:
            np.copyto(self.values, self.value)


def dataset_of(data: Any) -> Any:
    """The user's own dataset, if its loader reads it in this process or has persistent workers; None otherwise."""
    if not isinstance(data, DataLoader) or (data.num_workers and not data.persistent_workers):
        return None
    dataset: Any = data.dataset
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    if isinstance(dataset, IterableDataset) or not all(hasattr(dataset, n) for n in ("__dict__", "__len__")):
        return None
    return dataset if package_of(type(dataset)) == "user" else None


def stored_in(dataset: Any) -> list[Stored]:
    """The attributes that have one row, or one item, per sample."""
    size, found = len(dataset), []
    for name, held in vars(dataset).items():
        if isinstance(held, (Tensor, np.ndarray)) and held.ndim and len(held) == size:
            found.append((name, held))
        elif isinstance(held, (list, tuple)) and len(held) == size <= _MOST_TENSORS:
            found.extend((name, each) for each in held if isinstance(each, (Tensor, np.ndarray)))
    if sum(int(np.prod(values.shape)) for _, values in found) > _MOST_VALUES:
        return []
    return [Stored(name, values) for name, values in found if _can_be_written(values)]


def _can_be_written(values: Any) -> bool:
    if isinstance(values, Tensor):
        return is_plain(values)
    return bool(values.flags.writeable) and values.dtype.kind in "fiub"


@contextmanager
def put_back_random_numbers() -> Iterator[Callable[[], None]]:
    """Yields a function that rewinds all random numbers to where they are now; they are rewound at the end, too."""
    ours, pythons, numpys = torch.get_rng_state(), random.getstate(), np.random.get_state()

    def again() -> None:
        torch.set_rng_state(ours)
        random.setstate(pythons)
        np.random.set_state(numpys)

    try:
        yield again
    finally:
        again()


#: What they write does not depend on what was there.
_ASSIGNMENTS = ("copy_", "fill_", "zero_", "__setitem__")


class Writes(FunctionMode):
    """Remembers the line that last wrote into each of these tensors, and which were changed rather than set anew."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__()
        self._pointers = {memory_of(v) for v in values if isinstance(v, Tensor)}
        self.places: dict[int, Place | None] = {}
        self.changed: set[int] = set()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name == "__setitem__" or _writes(name):
            written = args[0] if args else None
            if isinstance(written, Tensor):
                self._note(name, written)
        return result

    def _note(self, name: str, written: Tensor) -> None:
        with Aside():
            memory = memory_of(written)
            if memory in self._pointers:
                self.places[memory] = user_place()
                if name not in _ASSIGNMENTS:
                    self.changed.add(memory)


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")
