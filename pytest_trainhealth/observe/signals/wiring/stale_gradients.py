"""Whether an optimizer steps with gradients that still contain those of its previous step.

Gradients that an optimizer has used are stale until a backward pass begins after they were cleared. (The generator
pass of a GAN leaves gradients on the discriminator, but these are cleared before the discriminator's own pass.)
"""

from __future__ import annotations

from torch.optim import Optimizer

from ....tensors.norms import norms
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Updates that are examined; each costs a norm of every gradient. By judgement: 8, of which two are enough to conclude
#: (analysis/wiring.py).
_UPDATES = 8


class StaleGradients(Signal):
    NAME, COST = "stale_gradients", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._used: dict[int, Optimizer] = {}
        self._backward_since: set[int] = set()
        self._updates: dict[int, int] = {}

    def backward_begins(self, roots: object) -> None:
        self._forget_cleared()
        self._backward_since.update(self._used)

    def gradients_cleared(self, holder: object) -> None:
        """In the middle of a step: the pass of another optimizer may have begun before."""
        self._forget_cleared()

    def _forget_cleared(self) -> None:
        for key, optimizer in list(self._used.items()):
            if not _any_gradient(optimizer):
                del self._used[key]
                self._backward_since.discard(key)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            self._note(optimizer)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure:
            self._note(optimizer)
        self._backward_since.discard(id(optimizer))
        count = self._updates[id(optimizer)] = self._updates.get(id(optimizer), 0) + 1
        if count < _UPDATES:
            self._used[id(optimizer)] = optimizer
        else:
            self._used.pop(id(optimizer), None)

    def _note(self, optimizer: Optimizer) -> None:
        if id(optimizer) in self._used and id(optimizer) in self._backward_since and _any_gradient(optimizer):
            label = self._run.add_optimizer(optimizer)
            steps = self._run.trace.wiring.stale_gradients.setdefault(label, [])
            if self._run.step not in steps:
                steps.append(self._run.step)


def _any_gradient(optimizer: Optimizer) -> bool:
    return any(norms([p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]))
