"""Clears gradients that an optimizer, or a loop that updates by hand, has used before the next backward pass.

`of_others`: also those that the same pass left on the parameters of other optimizers. `by_hand`: those of parameters
that no optimizer of torch's holds, once something has moved them.
"""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.moves_between_passes import MovesBetweenPasses
from ...observe.run.run import Run


class ZeroGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack, of_others: bool = False, by_hand: bool = False) -> None:
        self._run, self._of_others = run, of_others
        self._moves = MovesBetweenPasses(run, None if by_hand else self._in_closure)
        self._calling: str = ""
        self._used: dict[int, Optimizer] = {}

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._calling = ""
        self._used[id(optimizer)] = optimizer
        if self._of_others:
            self._used.update((id(other), other) for other in self._run.optimizers.values())

    def backward_begins(self, roots: object) -> None:
        for optimizer in self._used.values():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
        self._used.clear()
        for name in self._moves.since_then():
            self._run.parameters[name].grad = None

    def backward_ends(self) -> None:
        self._moves.pass_ended()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._calling = self._run.add_optimizer(optimizer) if has_closure else ""

    def _in_closure(self, parameter: Tensor) -> bool:
        """Of an optimizer that calls its closure again and again, and moves the parameters in between."""
        return self._calling in self._run.held_by(parameter)
