"""One sample of each batch is degenerate, in a way that may occur one day.

`zero`: a blank image, a silent recording. `constant`: all its values are its mean. `extreme`: each value is, by turns,
the smallest or the largest that the batch has at this position.
"""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor

from ...observe.run.run import Run
from .._at_the_inputs import AtTheInputs


class DegenerateSample(AtTheInputs):
    def __init__(self, run: Run, stack: ExitStack, how: str) -> None:
        super().__init__(run, stack)
        self._how = how

    def changed(self, tensor: Tensor) -> Tensor:
        if tensor.shape[0] != self._run.trace.batch_size or tensor.layout != torch.strided:
            return tensor  # a sparse matrix relates samples to one another, and none of its rows is one
        changed = tensor.clone()
        with torch.no_grad():
            changed[0] = self._sample(tensor)
        return changed

    def _sample(self, batch: Tensor) -> Tensor:
        if self._how == "zero":
            return torch.zeros_like(batch[0])
        if self._how == "constant":
            return torch.full_like(batch[0], float(batch[0].float().mean()))
        odd = torch.arange(batch[0].numel(), device=batch.device).reshape(batch.shape[1:]) % 2 == 1
        return torch.where(odd, batch.amax(0), batch.amin(0))
