"""How many bytes a step keeps for its backward pass: what a larger batch needs more of, and lower precision less.

Counted where autograd keeps them, which is the same on every machine; the memory of the process is not. Weights are
there anyway, and do not count.
"""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor

from ...run.run import Run
from ...run.signal import Cost, Signal

#: The step that is looked at. By judgement: the second, as the first may be a special case.
_AT = 1


class KeptForBackward(Signal):
    NAME, COST = "kept_for_backward", Cost.SPEED

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._open = ExitStack()
        #: By the address of their memory: what is kept twice is there once.
        self._kept: dict[int, int] = {}
        self._most = 0
        self._weights: set[int] = set()

    def step_begins(self, batch: object) -> None:
        if self._run.step == _AT:
            self._weights = {p.untyped_storage().data_ptr() for p in self._run.parameters.values()}
            self._open.enter_context(torch.autograd.graph.saved_tensors_hooks(self._keep, lambda tensor: tensor))

    def backward_ends(self) -> None:
        self._count()

    def step_ends(self) -> None:
        if self._run.step == _AT:
            self._open.close()
            self._count()
            self._run.trace.speed.kept_for_backward = self._most

    def run_ends(self) -> None:
        self._open.close()

    def _keep(self, tensor: Tensor) -> Tensor:
        with self._reading():
            if tensor.untyped_storage().data_ptr() not in self._weights:  # nor a view of one
                self._kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    def _count(self) -> None:
        self._most = max(self._most, sum(self._kept.values()))
        self._kept.clear()
