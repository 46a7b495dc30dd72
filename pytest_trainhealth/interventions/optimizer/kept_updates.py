"""What an optimizer has left in its parameters is there again when the next step begins, whatever wrote to them."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class KeptUpdates(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._left: dict[int, tuple[Tensor, Tensor]] = {}

    def step_begins(self, batch: object) -> None:
        with torch.no_grad():
            for parameter, values in self._left.values():
                if not torch.equal(parameter, values):
                    parameter.copy_(values)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for group in optimizer.param_groups:
            for p in group["params"]:
                self._left[id(p)] = (p, p.detach().clone())
