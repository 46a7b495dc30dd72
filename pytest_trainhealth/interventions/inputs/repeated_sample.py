"""A batch that consists of one sample, repeated with its target."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import batch_size, map_tensors


class RepeatedSample(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        run.batch_changes.append(_repeated)


def _repeated(batch: Any) -> Any:
    size = batch_size(batch)

    def of_the_first(name: str, tensor: Tensor) -> Tensor:
        return tensor[:1].expand_as(tensor).clone() if tensor.ndim and tensor.shape[0] == size else tensor

    return map_tensors(of_the_first, batch)
