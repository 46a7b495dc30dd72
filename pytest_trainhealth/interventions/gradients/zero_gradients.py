"""Clears gradients that an optimizer, or a loop that updates by hand, has used before the next backward pass.

`of_others`: also those that the same pass left on the parameters of other optimizers.
"""

from __future__ import annotations

from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.hand_updates import HandUpdates
from ...observe.run.run import Run


class ZeroGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack, of_others: bool = False) -> None:
        self._run, self._of_others = run, of_others
        self._used: dict[int, Optimizer] = {}
        self._by_hand = HandUpdates(run)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._used[id(optimizer)] = optimizer
        if self._of_others:
            self._used.update((id(other), other) for other in self._run.optimizers.values())

    def backward_begins(self, roots: object) -> None:
        for optimizer in self._used.values():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
        self._used.clear()
        for parameter in self._by_hand.used_and_kept():
            parameter.grad = None

    def backward_ends(self) -> None:
        self._by_hand.pass_ends()
