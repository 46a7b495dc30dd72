"""At one step, some fields of the batch get the values that the search has found."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import map_tensors


class FoundInputs(Listener):
    def __init__(self, run: Run, stack: ExitStack, inputs: Mapping[str, Tensor], step: int = 0) -> None:
        """`inputs`: values by field name, as in `batches.tensors`."""
        self._run, self._inputs, self._step = run, inputs, step
        run.batch_changes.append(self._given)

    def _given(self, batch: Any) -> Any:
        return map_tensors(self._field, batch) if self._run.step == self._step else batch

    def _field(self, name: str, tensor: Tensor) -> Tensor:
        given = self._inputs.get(name)
        if given is None or given.shape[1:] != tensor.shape[1:]:
            return tensor
        changed = tensor.clone()  # a step may write into its batch
        rows = min(len(given), len(tensor))  # a cure may have made the batch larger
        changed[:rows] = given[:rows].to(tensor)
        return changed
