"""Optimizer steps that have no gradient to step with: cleared since the backward pass, or no backward pass at all.

One of several optimizers may wait for its turn while all are stepped together: an update counts as empty only if no
optimizer had a gradient in that training step, or if this one was stepped again without a new one.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim import Optimizer

from ....records.wiring import EmptyUpdates as Record
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Steps that are counted. By judgement: as long as gradients_flow looks at most, and then it costs nothing more.
_STEPS = 32


class EmptyUpdates(Signal):
    NAME, COST = "empty_updates", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._backward = self._cleared = False
        #: In this step, by optimizer: updates with a gradient; and those without: cleared, or never computed.
        self._full: dict[str, int] = {}
        self._empty: dict[str, list[bool]] = {}
        #: The optimizers that the last backward pass computed gradients for.
        self._reached: set[str] = set()

    def backward_ends(self) -> None:
        self._backward, self._cleared = True, False
        if self._run.step < _STEPS:
            self._reached = {label for label, each in self._run.optimizers.items() if _any_gradient(each)}

    def gradients_cleared(self, holder: object) -> None:
        self._cleared = self._backward

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if has_closure or self._run.step >= _STEPS:
            return
        label = self._run.add_optimizer(optimizer)
        record: Record = self._run.trace.wiring.empty_updates
        if _any_gradient(optimizer):
            record.met[label] = record.met.get(label, 0) + 1
            self._full[label] = self._full.get(label, 0) + 1
        elif self._cleared or not self._backward:
            if self._cleared and label in self._reached:
                record.robbed[label] = record.robbed.get(label, 0) + 1
            self._empty.setdefault(label, []).append(self._cleared)
            record.place = record.place or user_place()
        else:  # after a backward pass that reached none of them, the gradients are 0 by nature, or another optimizer's
            record.missed[label] = record.missed.get(label, 0) + 1

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if len(self._run.optimizers) == 1:
            self._backward = self._cleared = False

    def step_ends(self) -> None:
        record: Record = self._run.trace.wiring.empty_updates
        for label, each in self._empty.items():
            waiting = 1 if self._full and not self._full.get(label) else 0  # for its turn
            record.cleared += sum(each[waiting:])
            record.not_computed += sum(not cleared for cleared in each[waiting:])
        record.full += sum(self._full.values())
        self._full.clear()
        self._empty.clear()
        self._backward = self._cleared = False


def _any_gradient(optimizer: Optimizer) -> bool:
    """Ends at the first tensor that has one: in a healthy step, the first of all."""
    return any(_is_something(p.grad) for group in optimizer.param_groups for p in group["params"])


def _is_something(grad: Tensor | None) -> bool:
    return grad is not None and (grad.layout != torch.strided or bool(grad.detach().any()))
