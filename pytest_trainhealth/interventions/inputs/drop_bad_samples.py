"""Removes samples with NaN or Inf, or with values far beyond those of the others, from every batch."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data.dataloader import _BaseDataLoaderIter

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.signals.data.scales import is_float_data, sample_sizes
from ...observe.source.module_calls import before_call
from ...tensors.batches import batch_size, map_tensors, tensors


class DropBadSamples(Listener):
    """`beyond`: a sample is too large if it is this many times as large as the median one."""

    def __init__(self, run: Run, stack: ExitStack, beyond: float | None = None) -> None:
        self._beyond = beyond
        run.batch_changes.append(self._clean)
        if run.feed is None:  # a watched test has its own loaders
            original = _BaseDataLoaderIter.__next__
            stack.callback(setattr, _BaseDataLoaderIter, "__next__", original)
            setattr(_BaseDataLoaderIter, "__next__", lambda iterator: self._clean(original(iterator)))  # noqa: B010
            if beyond is None:  # it may have no loader: then its modules get zeros instead of such values
                stack.callback(before_call(_given_zeros).remove)

    def _clean(self, batch: Any) -> Any:
        size = batch_size(batch)
        if not size:
            return batch
        good: Tensor | None = None
        for _, tensor in tensors(batch):
            if (
                tensor.is_floating_point()
                and tensor.layout == torch.strided
                and tensor.ndim
                and tensor.shape[0] == size
            ):
                rows = torch.isfinite(tensor).flatten(1).all(1) if tensor.ndim > 1 else torch.isfinite(tensor)
                if self._beyond is not None:
                    sizes, usual = sample_sizes(tensor)
                    rows = rows & (sizes <= self._beyond * usual)
                good = rows if good is None else good & rows
        if good is None or bool(good.all()):
            return batch
        if not bool(good.any()):  # nothing left: the values become 0 instead
            return map_tensors(
                lambda _, t: torch.nan_to_num(t, posinf=0, neginf=0) if t.is_floating_point() else t, batch
            )
        kept = good
        return map_tensors(lambda _, t: t[kept] if t.ndim and t.shape[0] == size else t, batch)


def _given_zeros(module: nn.Module, inputs: Any) -> Any:
    bad = any(is_float_data(t) and not bool(torch.isfinite(t).all()) for _, t in tensors(inputs))
    return (
        map_tensors(lambda _, t: torch.nan_to_num(t, posinf=0, neginf=0) if is_float_data(t) else t, inputs)
        if bad
        else None
    )
