"""Optimizers that step between their turns, and move on what is left of old gradients.

Where several optimizers take turns, one may be stepped although no backward pass has come to its parameters since its
last step. Without gradients (None) it skips them, and nothing is lost. With gradients that were set to zero it takes a
step all the same: momentum carries its parameters on, weight decay shrinks them, and both count the step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ....records.wiring import CoastingRecord
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Steps that are counted, as for empty updates: as long as gradients_flow looks at most. By judgement.
_STEPS = 32

Versions = dict[int, tuple[Any, ...]]


class Coasting(Signal):
    NAME, COST = "coasting", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: Versions = {}
        #: Optimizers to which a backward pass has come since their last step.
        self._reached: set[int] = set()
        #: Of the step that is being taken with nothing: copies of what it may move.
        self._copies: list[tuple[Tensor, Tensor]] = []

    def backward_begins(self, roots: object) -> None:
        if self._looks:
            self._before = self._versions()

    def backward_ends(self) -> None:
        if self._looks:
            now = self._versions()
            self._reached |= {key for key, versions in now.items() if self._before.get(key) != versions}

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._copies = []
        if not self._looks or has_closure:
            return
        record = self._record(optimizer)
        held = [p for p in _held(optimizer) if p.grad is not None]
        if any(_is_something(p.grad) for p in held):
            record.full += 1
        elif id(optimizer) not in self._reached:
            record.waited += 1
            self._copies = [(p, p.detach().clone()) for p in held]

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._reached.discard(id(optimizer))
        if any(not torch.equal(p, copy) for p, copy in self._copies):
            record = self._record(optimizer)
            record.coasted += 1
            record.place = record.place or user_place()
        self._copies = []

    def run_ends(self) -> None:
        self._copies = []

    @property
    def _looks(self) -> bool:
        return len(self._run.optimizers) > 1 and self._run.step < _STEPS

    def _record(self, optimizer: Optimizer) -> CoastingRecord:
        label = self._run.add_optimizer(optimizer)
        return self._run.trace.wiring.coasting.setdefault(label, CoastingRecord(label))

    def _versions(self) -> Versions:
        return {id(each): tuple(map(_version, _held(each))) for each in self._run.optimizers.values()}


def _held(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _version(parameter: Tensor) -> Any:
    return None if parameter.grad is None else (id(parameter.grad), parameter.grad._version)


def _is_something(grad: Tensor | None) -> bool:
    return grad is not None and (grad.layout != torch.strided or bool(grad.detach().any()))
