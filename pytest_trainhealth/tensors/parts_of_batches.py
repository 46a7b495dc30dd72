"""Some samples of a batch: its rows, where its tensors have one for each sample."""

from __future__ import annotations

from typing import Any

from .batches import map_tensors, tensors


def rows_of(batch: Any, samples: int, rows: slice) -> Any:
    """The batch with these of its samples; tensors that have no row for each are as they were."""
    return map_tensors(lambda _, t: t[rows].clone() if t.ndim and t.shape[0] == samples else t, batch)


def is_ragged(batch: Any, samples: int) -> bool:
    """Whether a tensor has another number of rows: a list with one entry for each sample cannot be cut like one."""
    return any(t.ndim and t.shape[0] != samples for _, t in tensors(batch))
