"""Every rank takes batches of its own: of a number of ranks, each takes every such batch, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any

import torch.distributed as dist

from ...observe.run.events import Listener
from ...observe.run.run import Run


class OwnBatches(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run

    def run_begins(self) -> None:
        if self._run.training is not None and dist.is_initialized():
            self._run.training.data = _Every(self._run.training.data, dist.get_rank(), dist.get_world_size())


class _Every:
    def __init__(self, data: Any, first: int, apart: int) -> None:
        self._data, self._first, self._apart = data, first, apart

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self._data), self._first, None, self._apart)
