"""Every run with it gets the batches of the first such run."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import map_tensors


class SameBatches(Listener):
    """`kept` is filled by the first run, and read by the others."""

    def __init__(self, run: Run, stack: ExitStack, kept: list[Any]) -> None:
        self._run, self._kept = run, kept
        if run.feed is None:  # a watched test has its own loaders
            run.trace.applied.without_effect.append("same_batches")
        run.batch_changes.append(self._same)

    def _same(self, batch: Any) -> Any:
        if self._run.step == len(self._kept):
            self._kept.append(_copy(batch))
        return _copy(self._kept[self._run.step])


def _copy(batch: Any) -> Any:
    return map_tensors(lambda _, tensor: tensor.detach().clone(), batch)
