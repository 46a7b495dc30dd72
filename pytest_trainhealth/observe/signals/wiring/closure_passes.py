"""Closures that add to the gradients of their own last call.

An optimizer such as LBFGS calls its closure several times in one step, and moves the parameters in between. If the
gradients of the last call are still there, unchanged, when the next one begins its backward pass, it gets the sum of
both. Two passes of one call, for two losses, do not move anything in between.
"""

from __future__ import annotations

from torch.optim import Optimizer

from ...run.moves_between_passes import MovesBetweenPasses
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Updates that are examined, each at the cost of a copy of the parameters for each call. By judgement: 4, of which two
#: are enough to conclude (analysis/wiring.py).
_UPDATES = 4


class ClosurePasses(Signal):
    NAME, COST = "closure_passes", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._moves = MovesBetweenPasses(run, lambda parameter: self._label in run.held_by(parameter))
        #: The optimizer whose step calls a closure right now.
        self._label = ""
        self._updates: dict[str, int] = {}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        label = self._run.add_optimizer(optimizer)
        if has_closure and self._updates.get(label, 0) < _UPDATES:
            self._label = label
            self._updates[label] = self._updates.get(label, 0) + 1

    def backward_begins(self, roots: object) -> None:
        moved = self._moves.since_then() if self._label else {}
        if moved and all(moved.values()):
            steps = self._run.trace.wiring.stale_gradients.setdefault(self._label, [])
            if self._run.step not in steps:
                steps.append(self._run.step)

    def backward_ends(self) -> None:
        if self._label:
            self._moves.pass_ended()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._label = ""
        self._moves.forget()
