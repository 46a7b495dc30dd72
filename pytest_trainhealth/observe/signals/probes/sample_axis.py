"""Does the first dimension of an input count the samples, or the time steps?

A model cannot tell: a recurrent net over (samples, time, features) that takes the first dimension for time looks like a
correct one over (time, samples, features). The data can: how a loader made the batch, what else has one value for each
sample, where the padding is, which neighbour the target is, and how the batches were cut out of a larger tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler, default_collate

from ....tensors.batches import tensors
from ....tensors.storage import memory_of
from .leakage import element_shift
from .repeat_call import Leaf

#: How much neighbours differ compared with rows taken at random: below this the rows have an order. By judgement: rows
#: in random order are at 1, of 16 within 0.1 of it; a series that can be predicted at all is below 0.8.
_ORDERED = 0.85
#: Fewest rows whose order is judged. By judgement: fewer than 6 have too few neighbours.
_FEWEST_ROWS = 6
#: Fewest sequences that have to end early for their ends to be padding. By judgement: 2, of different lengths.
_FEWEST_PADDED = 2


def samples_first(leaf: Leaf, data: Any, batch: Any, targets: list[Tensor]) -> bool | None:
    """True if the first dimension counts samples, False if the second one does, None if nothing tells."""
    shape = leaf.tensor.shape
    if len(shape) < 2:
        return None
    return next((answer for answer in _evidence(leaf, data, batch, targets) if answer is not None), None)


def _evidence(leaf: Leaf, data: Any, batch: Any, targets: list[Tensor]) -> Iterator[bool | None]:
    first, second = leaf.tensor.shape[:2]
    size = _batch_size(data)
    if size is not None:
        if size == first and data.collate_fn is default_collate:
            yield True
        elif size in (first, second) and first != second:
            yield size == first
    yield from (_by_shift(leaf.tensor, target) for target in targets)
    if first != second:
        singles = {t.shape[0] for _, t in tensors(batch) if t.ndim == 1 and t.numel() > 1}
        if len(singles & {first, second}) == 1:
            yield first in singles
    yield _by_padding(leaf.tensor)
    yield _by_cut(leaf, data, batch)


def shuffled(data: Any) -> bool:
    """A loader draws the samples of each batch at random: neighbours in a batch have nothing to do with each other."""
    return isinstance(data, DataLoader) and isinstance(getattr(data, "sampler", None), RandomSampler)


def ordered(values: Tensor, dim: int = 0) -> bool:
    """Neighbours along this dimension are more alike than others: a series, or sorted samples."""
    rows = values.detach().movedim(dim, 0)
    if rows.shape[0] < _FEWEST_ROWS or rows.is_complex():
        return False
    table = rows.double().flatten(1)
    apart = torch.cdist(table, table)
    number = len(table)
    neighbours, anybody = apart.diagonal(1).mean(), apart.sum() / (number * (number - 1))
    return bool(neighbours < _ORDERED * anybody)


def _batch_size(data: Any) -> int | None:
    if not isinstance(data, DataLoader):
        return None
    size = data.batch_size or getattr(data.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) and size > 1 else None


def _by_shift(values: Tensor, target: Tensor) -> bool | None:
    """The target of each element is the next one along this dimension: that one is time."""
    if values.dtype == torch.bool or values.is_complex() or values.is_floating_point() != target.is_floating_point():
        return None
    for time in (1, 0):
        if element_shift(values, target, time) == 1:
            return time == 1
    return None


def _by_padding(values: Tensor) -> bool | None:
    """Zeros fill up the ends of sequences of different lengths."""
    zero = (values == 0) if values.ndim == 2 else (values == 0).flatten(2).all(2)
    found = [_ends_early(zero), _ends_early(zero.T)]
    return None if found[0] == found[1] else found[0]


def _ends_early(zero: Tensor) -> bool:
    """(sequences, positions): once it is zero, it stays so, and not at the same position in all."""
    lengths = (~zero).sum(1)
    in_order = bool((zero.long().diff(dim=1) >= 0).all())
    padded = lengths[lengths < zero.shape[1]]
    return in_order and bool((lengths > 0).all()) and len(set(padded.tolist())) >= _FEWEST_PADDED


def _by_cut(leaf: Leaf, data: Any, batch: Any) -> bool | None:
    """How the batches of a list were cut out of one large tensor. Along time they would be parts of a stream."""
    if not isinstance(data, list):
        return None
    name = next(
        (name for name, t in tensors(batch) if t.layout == torch.strided and t.data_ptr() == leaf.origin[0]), None
    )
    cut = [t for each in data for n, t in tensors(each) if n == name and t.ndim >= 2 and t.layout == torch.strided]
    if len(cut) < 2 or len({memory_of(t) for t in cut}) > 1 or len({t.stride() for t in cut}) > 1:
        return None
    one, two = cut[0], cut[1]
    offset = two.storage_offset() - one.storage_offset()
    if offset == one.shape[1] * one.stride(1) and one.stride(0) > offset:
        return False
    if offset == one.shape[0] * one.stride(0) and not ordered(torch.cat([one, two])):
        return True
    return None
