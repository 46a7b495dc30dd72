"""Whether an optimizer steps with gradients that still contain those of its previous step.

Gradients that an optimizer has used are stale until a backward pass begins after they were cleared. (The generator
pass of a GAN leaves gradients on the discriminator, but these are cleared before the discriminator's own pass.)

A backward pass adds to the tensor that is there. Whoever writes `p.grad = ...` (weights of losses that are balanced by
hand, gradients that are projected) puts another in its place, which holds nothing of the last one.
"""

from __future__ import annotations

from torch import Tensor
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
        #: The gradients that the last update of each has used. What replaced one while it was kept is another tensor.
        self._left: dict[int, list[Tensor]] = {}
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
                del self._used[key], self._left[key]
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
            self._used[id(optimizer)], self._left[id(optimizer)] = optimizer, _gradients(optimizer)
        else:
            self._used.pop(id(optimizer), None)
            self._left.pop(id(optimizer), None)

    def run_ends(self) -> None:
        self._left.clear()
        self._used.clear()

    def _note(self, optimizer: Optimizer) -> None:
        key = id(optimizer)
        if key in self._used and key in self._backward_since and _adds_up(optimizer, self._left[key]):
            label = self._run.add_optimizer(optimizer)
            steps = self._run.trace.wiring.stale_gradients.setdefault(label, [])
            if self._run.step not in steps:
                steps.append(self._run.step)


def _gradients(optimizer: Optimizer) -> list[Tensor]:
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]


def _any_gradient(optimizer: Optimizer) -> bool:
    return any(norms(_gradients(optimizer)))


def _adds_up(optimizer: Optimizer, left: list[Tensor]) -> bool:
    """The same tensor still, or one of those that autograd adds up in a new one: sparse, or with a graph of its own."""
    known = {id(gradient) for gradient in left}
    same = [g for g in _gradients(optimizer) if id(g) in known or g.requires_grad or g.is_sparse]
    return any(norms(same))
