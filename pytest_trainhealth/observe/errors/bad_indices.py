"""Indices that name a row which the table does not have: which, how many, in which field and sample of the batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...records.errors import BadIndex
from .arguments import named_arguments
from .known_tensors import KnownTensors

_OF_CLASSES = ("cross_entropy", "nll_loss")
_WITH_DIMENSION = ("gather", "index_select", "take_along_dim", "scatter", "scatter_", "scatter_add", "scatter_add_",
                   "index_add", "index_add_", "index_copy", "index_fill")  # fmt: skip


def bad_index(
    name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: KnownTensors
) -> BadIndex | None:
    found = _looked_up(name, named_arguments(name, func, args, kwargs), args, kwargs)
    if found is None:
        return None
    indices, rows, table, from_the_end = found
    if indices.is_meta or not indices.numel() or indices.is_floating_point() or indices.dtype == torch.bool:
        return None
    bad = (indices >= rows) | (indices < (-rows if from_the_end else 0))
    if not bool(bad.any()):
        return None
    first = bad.nonzero()[0].tolist()
    value = int(indices[tuple(first)])
    field, sample = known.field_of(indices), None
    if first and indices.shape[0] == known.batch_size:
        sample = int(first[0])
    if not field:
        field, held_by = known.holding(value)
        sample = held_by if held_by is not None else sample
    return BadIndex(
        value=value,
        rows=rows,
        low=int(indices.min()),
        high=int(indices.max()),
        count=int(bad.sum()),
        total=indices.numel(),
        name=field,
        sample=sample,
        position=int(first[1]) if sample is not None and len(first) == 2 else None,
        table=known.parameter(table) if table is not None else "",
    )


def _looked_up(
    name: str, given: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Tensor, int, Tensor | None, bool] | None:
    """The indices, the number of rows, the table, and whether negative ones count from its end."""
    if name in ("embedding", "embedding_bag"):
        indices, weight = given.get("input"), given.get("weight")
        if isinstance(indices, Tensor) and isinstance(weight, Tensor) and weight.ndim:
            return indices, weight.shape[0], weight, False
    elif name == "one_hot":
        classes = given.get("num_classes", args[1] if len(args) > 1 else -1)
        if isinstance(args[0], Tensor) and isinstance(classes, int) and classes > 0:
            return args[0], classes, None, False
    elif name in _OF_CLASSES:
        scores, labels = given.get("input"), given.get("target")
        if isinstance(scores, Tensor) and isinstance(labels, Tensor) and scores.ndim:
            return _counted(labels, given), scores.shape[1 if scores.ndim > 1 else 0], None, False
    elif name == "__getitem__" and len(args) > 1 and isinstance(args[0], Tensor):
        return _subscript(args[0], args[1])
    elif name in _WITH_DIMENSION and args and isinstance(args[0], Tensor) and args[0].ndim:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        index = kwargs.get("index", args[2] if len(args) > 2 else None)
        if isinstance(dim, int) and isinstance(index, Tensor) and -args[0].ndim <= dim < args[0].ndim:
            return index, args[0].shape[dim], args[0], False
    return None


def _counted(labels: Tensor, given: dict[str, Any]) -> Tensor:
    """With 0, which is always a class, for those that the loss ignores."""
    ignored = given.get("ignore_index", -100)
    return labels if labels.is_floating_point() else labels.masked_fill(labels == ignored, 0)


def _subscript(table: Tensor, subscript: Any) -> tuple[Tensor, int, Tensor | None, bool] | None:
    """`table[ids]`, or the first part of `table[rows, columns]` that leaves it."""
    parts = subscript if isinstance(subscript, tuple) else (subscript,)
    for dim, part in enumerate(parts):
        if part is None or part is Ellipsis or dim >= table.ndim:
            return None  # from here on dimensions are counted in another way
        if isinstance(part, Tensor) and part.dtype != torch.bool and part.numel():
            rows = table.shape[dim]
            if bool(((part >= rows) | (part < -rows)).any()):
                return part, rows, table, True
    return None
