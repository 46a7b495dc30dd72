"""Batches of another size: with fewer of their samples, or with some of them twice."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import batch_size, map_tensors


class BatchSize(Listener):
    def __init__(self, run: Run, stack: ExitStack, size: int) -> None:
        self._run, self._size = run, size
        run.batch_changes.append(self._resized)

    def _resized(self, batch: Any) -> Any:
        size = batch_size(batch)
        if not size:
            return batch
        rows = torch.arange(self._size, device="cpu") % size

        def some(name: str, tensor: Tensor) -> Tensor:
            return tensor[rows.to(tensor.device)] if tensor.ndim and tensor.shape[0] == size else tensor

        if not self._run.step:
            self._run.trace.batch_size = self._size
        return map_tensors(some, batch)
