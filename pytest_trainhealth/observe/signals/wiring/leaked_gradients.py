"""Whether an optimizer steps with gradients that the backward pass of another left, and that work against its own.

The generator's pass leaves gradients on the discriminator, which say how to be fooled. Where nothing clears them before
the discriminator's own pass, it follows the sum of both. Two losses that are meant to add up agree in part; those of
adversaries do not.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...run.run import Run
from ...run.signal import Cost, Signal

#: Steps that are looked at, each at the cost of a copy of the gradients. By judgement: 6, of which two are enough to
#: conclude (analysis/wiring.py).
_STEPS = 6
#: The cosine between what was left and the optimizer's own. Of a discriminator at its first eight steps: -0.48 to
#: -0.60. By judgement: two losses that have nothing to do with each other stay around 0.
_AGAINST = -0.2

Left = list[tuple[Tensor, Tensor]]


class LeakedGradients(Signal):
    NAME, COST = "leaked_gradients", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        #: By the optimizer: whose update came after the pass that left them, and parameters with those gradients.
        self._left: dict[int, tuple[str, Left]] = {}
        self._another_pass: set[int] = set()
        #: Optimizers without gradients when the last backward pass began.
        self._clear_before: set[int] = set()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        giver, left = self._left.pop(id(optimizer), ("", []))
        if not left or id(optimizer) not in self._another_pass:
            return
        leaked = torch.cat([gradient.flatten() for _, gradient in left])
        own = torch.cat([(p.grad - gradient).flatten() for p, gradient in left if p.grad is not None])
        if len(own) == len(leaked) and bool(own.any()):
            against = float(torch.nn.functional.cosine_similarity(own, leaked, dim=0))
            if against < _AGAINST:
                label = self._run.add_optimizer(optimizer)
                self._run.trace.wiring.leaked_gradients.setdefault(label, {})[self._run.step] = giver

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._left.pop(id(optimizer), None)
        self._another_pass.discard(id(optimizer))
        if len(self._run.optimizers) < 2 or self._run.step >= _STEPS:
            return
        used = {id(p) for p in _held(optimizer)}
        for other in self._run.optimizers.values():
            if other is optimizer or id(other) in self._left or id(other) not in self._clear_before:
                continue  # what was there before the pass is not of the pass
            held = [p for p in _held(other) if id(p) not in used]
            left = [(p, p.grad.detach().clone()) for p in held if p.grad is not None and p.grad.is_floating_point()]
            if any(bool(gradient.any()) for _, gradient in left):
                self._left[id(other)] = (self._run.add_optimizer(optimizer), left)

    def backward_begins(self, roots: object) -> None:
        if len(self._run.optimizers) < 2 or self._run.step >= _STEPS:
            return
        self._clear_before = {id(each) for each in self._run.optimizers.values() if _is_clear(each)}
        for key, (_, left) in list(self._left.items()):
            if key in self._clear_before:
                del self._left[key]  # as it should be
                self._another_pass.discard(key)
            elif all(p.grad is not None and torch.equal(p.grad, gradient) for p, gradient in left):
                self._another_pass.add(key)

    def run_ends(self) -> None:
        self._left.clear()


def _held(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _is_clear(optimizer: Optimizer) -> bool:
    return not any(p.grad is not None and bool(p.grad.any()) for p in _held(optimizer))
