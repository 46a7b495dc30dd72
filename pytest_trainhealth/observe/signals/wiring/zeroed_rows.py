"""Rows of an embedding whose gradients the step sets to 0 by hand, always the same ones, and which move all the same.

Whoever sets the gradients of old words to 0 means to keep them, and weight decay needs no gradient. Rows of other
layers are units: those that are to be pruned may shrink. A row that no word of a batch uses has no gradient to begin
with, and says nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ....records.wiring import FrozenRows
from ....tensors.module_paths import full_path
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Steps within which it has to begin; from then on only such embeddings are watched. By judgement: 4, as for whole
#: parameters (frozen.py).
_STEPS = 4


class ZeroedRows(Signal):
    NAME, COST = "zeroed_rows", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        #: Rows that backward() has reached since the last update, and before it those of them without a gradient.
        self._reached: dict[str, Tensor] = {}
        self._before: dict[str, tuple[Tensor, Tensor]] = {}
        #: Rows that were ever set to 0, and rows that ever learnt.
        self._zeroed: dict[str, Tensor] = {}
        self._learning: dict[str, Tensor] = {}

    def backward_ends(self) -> None:
        for name, parameter in self._tables():
            rows = _with_gradient(parameter)
            if rows is not None:
                self._reached[name] = rows | self._reached.get(name, torch.zeros_like(rows))

    def gradients_cleared(self, holder: object) -> None:
        self._reached.clear()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._before.clear()
        decaying = {id(p) for group in optimizer.param_groups if group.get("weight_decay") for p in group["params"]}
        for name, reached in self._reached.items() if not has_closure else ():
            parameter = self._run.parameters[name]
            rows = _with_gradient(parameter)
            if rows is None or id(parameter) not in decaying:
                continue
            self._learning[name] = rows | self._learning.get(name, torch.zeros_like(rows))
            zeroed = reached & ~rows
            if bool(zeroed.any()):
                self._zeroed[name] = zeroed | self._zeroed.get(name, torch.zeros_like(rows))
                self._before[name] = (zeroed, parameter.detach()[zeroed].clone())

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        records = self._run.trace.wiring.zeroed_rows
        for name, (rows, before) in self._before.items():
            if not bool((self._run.parameters[name].detach()[rows] == before).all()):
                label = self._run.add_optimizer(optimizer)
                records.setdefault(name, FrozenRows(name, label)).steps.append(self._run.step)
        for name, record in list(records.items()):
            zeroed, learning = self._zeroed[name], self._learning[name]
            record.rows, record.of = int(zeroed.sum()), len(zeroed)
            if bool((zeroed & learning).any()) or not bool(learning.any()):
                del records[name]  # other rows each time, or for a while only; or all of them
                self._zeroed[name].zero_()
        self._before.clear()
        self._reached.clear()

    def _tables(self) -> list[tuple[str, Tensor]]:
        if self._run.step >= _STEPS and not self._zeroed:
            return []
        found = []
        for path, module in self._run.named_modules():
            name = full_path(path, "weight")
            watched = isinstance(module, nn.Embedding) and (self._run.step < _STEPS or name in self._zeroed)
            if watched and name in self._run.parameters:
                found.append((name, self._run.parameters[name]))
        return found


def _with_gradient(parameter: Tensor) -> Tensor | None:
    grad = parameter.grad
    return None if grad is None or grad.layout != torch.strided else (grad.detach() != 0).flatten(1).any(1)
