"""Images and the weights of convolutions with their channels last in memory: the numbers stay the same."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ...observe.run.run import Run
from .._at_the_inputs import AtTheInputs

#: Dimensions of a batch of images, 4: sample, channel, row, column.
_OF_IMAGES = 4


class ChannelsLast(AtTheInputs):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__(run, stack)
        self._reordered: set[int] = set()

    def step_begins(self, batch: object) -> None:
        super().step_begins(batch)
        for each in self._run.models.values():
            model: Any = each
            if id(model) not in self._reordered:
                self._reordered.add(id(model))
                self._stack.callback(model.to, memory_format=torch.contiguous_format)
                model.to(memory_format=torch.channels_last)

    def changed(self, tensor: Tensor) -> Tensor:
        return tensor.contiguous(memory_format=torch.channels_last) if tensor.ndim == _OF_IMAGES else tensor
