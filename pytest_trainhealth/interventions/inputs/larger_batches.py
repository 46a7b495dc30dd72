"""Joins several batches into one."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import cycle, islice
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import batch_size, map_tensors, tensors


class LargerBatches(Listener):
    """Batches that do not fit together stay as they are, and the cure reports that it had no effect."""

    def __init__(self, run: Run, stack: ExitStack, count: int = 8) -> None:
        self._run, self._count = run, count
        if run.feed is not None:
            run.feed.widen(count, self._join)
            return
        run.loader_batches.by_a_cure = True
        original = DataLoader.__iter__  # a watched test has its own loaders
        stack.callback(setattr, DataLoader, "__iter__", original)
        setattr(DataLoader, "__iter__", lambda loader: self._joined(loader, original(loader)))  # noqa: B010

    def _joined(self, loader: Any, batches: Any) -> Any:
        """Always joins the full count: at the end of an epoch, or of one with fewer batches, repeats earlier ones."""
        last: list[Any] = []
        while several := list(islice(batches, self._count)):
            last = [*last, *several][-self._count :]
            joined = self._join(list(islice(cycle(last), self._count)))
            self._run.loader_batches.note(loader, joined)
            yield joined

    def _join(self, several: list[Any]) -> Any:
        parts = [dict(tensors(batch)) for batch in several]
        sizes = [batch_size(batch) for batch in several]

        def joined(name: str, tensor: Tensor) -> Tensor:
            rows = [part[name] for part in parts]
            if not tensor.ndim or any(not r.ndim or r.shape[0] != n for r, n in zip(rows, sizes, strict=True)):
                return tensor
            return torch.cat(rows)

        try:
            return map_tensors(joined, several[0])
        except (KeyError, RuntimeError):  # other fields, or sequences of other lengths
            self._run.trace.applied.without_effect.append("larger_batches")
            return several[0]
