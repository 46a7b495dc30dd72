"""Reads batches of `data` or `val_data`, as many as are asked for, and leaves the loader behind as it was.

Samples that lie in memory are cheap to look at, those that a data set has to make are not: so there are two limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, Subset, TensorDataset, default_collate

from ....tensors.batches import tensors
from ....training import is_one_batch
from ...run.loader_end import end_workers

#: Batches that are read from a loader that makes them. By judgement: 32 show what comes again and again, and take less
#: than the 80 steps of learns_from_data.
_MADE = 32
#: Values that are looked at where they lie in memory. A million rows of 20 numbers and a class are 21 million, and took
#: 2 to 4 seconds (docs/reliability.md).
_STORED = 24_000_000
#: Of them, at a time. By judgement: a million are 4 MB.
_AT_A_TIME = 1_000_000
#: Rows that are taken at a time from tensors in memory. By judgement: 8,192 rows of 20 numbers are less than 1 MB.
_ROWS = 8192


class Reading:
    """Iterate it to read. `complete`: whether that was all there is."""

    def __init__(self, data: Any, most: int | None = None) -> None:
        self._data, self._most = data, most
        self.complete = False
        #: The size of a batch, where samples are taken from the tensors of a data set, past its loader.
        self.stored: int | None = None if stored_tensors(data) is None else data.batch_size

    def __iter__(self) -> Iterator[Any]:
        if is_one_batch(self._data):
            self.complete = True
            yield self._data
        elif self.stored is not None:
            yield from self._stored_rows()
        elif type(self._data) is list:
            yield from self._listed()
        else:
            yield from self._made()

    def _stored_rows(self) -> Iterator[Any]:
        found = stored_tensors(self._data)
        assert found is not None
        values, indices = found
        size = len(values[0]) if indices is None else len(indices)
        width = max(1, sum(prod(each.shape[1:]) for each in values))
        most = size if self._most is None else min(size, self._most * (self._data.batch_size or 1))
        most = most if self._most is not None else min(most, max(1, _STORED // width))
        self.complete = most == size
        rows = max(1, min(_ROWS, _AT_A_TIME // width))
        for begin in range(0, most, rows):
            chosen: Any = slice(begin, min(begin + rows, most))
            if indices is not None:
                chosen = torch.as_tensor(indices[chosen], dtype=torch.long, device="cpu")
            yield [each[chosen] for each in values]

    def _listed(self) -> Iterator[Any]:
        seen = 0
        for number, batch in enumerate(list.__iter__(self._data)):
            if number == self._most or (self._most is None and seen > _STORED):
                return
            seen += sum(tensor.numel() for _, tensor in tensors(batch))
            yield batch
        self.complete = True

    def _made(self) -> Iterator[Any]:
        kept = getattr(self._data, "_iterator", None) if isinstance(self._data, DataLoader) else None
        iterator, most, read = iter(self._data), self._most or _MADE, 0
        try:
            for batch in islice(iterator, most):
                read += 1
                yield batch
            self.complete = read < most or read == _length(self._data)
        finally:
            if iterator is not kept:
                if isinstance(self._data, DataLoader) and self._data._iterator is iterator:
                    self._data._iterator = kept
                end_workers(iterator)


def stored_tensors(data: Any) -> tuple[tuple[Tensor, ...], Any] | None:
    """The tensors of a torch `TensorDataset` behind a loader that hands out its rows, and the indices of a `Subset`.

    None where anything of the user's own may change what comes out: a sampler, a collate function, a class.
    """
    if type(data) is not DataLoader or data.collate_fn is not default_collate or data.batch_size is None:
        return None
    sampler: Any = data.sampler
    in_order = type(sampler) is SequentialSampler or (type(sampler) is RandomSampler and not sampler.replacement)
    if not in_order or (type(sampler) is RandomSampler and sampler._num_samples is not None):
        return None
    dataset, indices = underlying(data.dataset)
    if type(dataset) is not TensorDataset or not all(each.layout == torch.strided for each in dataset.tensors):
        return None
    return dataset.tensors, indices


def underlying(dataset: Any) -> tuple[Any, Any]:
    """What a `Subset`, or a subset of one, takes its samples from, and their indices there; None: all of them."""
    indices: Any = None
    while type(dataset) is Subset:
        own = list(dataset.indices)
        indices = own if indices is None else [own[each] for each in indices]
        dataset = dataset.dataset
    return dataset, indices


def _length(data: Any) -> int | None:
    try:
        return len(data)
    except TypeError:
        return None
