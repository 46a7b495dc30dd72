"""Parameters that an optimizer moves, and that are what they were before when it steps again.

Something loads or copies the old values at the beginning of each step, so that no update lasts. A few values of each
parameter tell: the update changes them, and the next one finds them as the last one did.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ....records.wiring import LostUpdates
from ....tensors.function_modes import unseen
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Updates of each optimizer that are examined. By judgement: 8, of which five are enough to conclude
#: (analysis/unmoved.py).
_UPDATES = 8
#: Values of a parameter that are compared. By judgement: that 64 values of float32 come back by chance does not happen.
VALUES = 64


class PutBack(Signal):
    NAME, COST = "put_back", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._updates: dict[str, int] = {}
        #: By parameter: its values before the latest update, and whether that has changed them.
        self._before: dict[str, Tensor] = {}
        self._changed: set[str] = set()
        #: Those that every update so far has found as the one before it did.
        self._candidates: dict[str, set[str]] = {}

    @unseen
    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        label = self._run.add_optimizer(optimizer)
        number = self._updates[label] = self._updates.get(label, 0) + 1
        if number > _UPDATES or has_closure:
            return
        rates = {id(p): float(group.get("lr", 1.0)) for group in optimizer.param_groups for p in group["params"]}
        found = {}
        for name, parameter in self._run.parameters.items():
            if id(parameter) in rates and not is_lazy(parameter) and parameter.grad is not None:
                found[name] = some_values(parameter)
        again = {n for n, v in found.items() if n in self._changed and torch.equal(v, self._before[n])}
        held = again if number == 2 else again & self._candidates.get(label, set())
        self._candidates[label] = held if number > 1 else set()
        for name in held if number > 1 else ():
            record = self._run.trace.wiring.parameters[name]
            record.lost = record.lost or LostUpdates(written=True, changed=True)
            record.lost.count, record.lost.put_back = number - 1, number - 1
            record.lost.rate = rates[id(self._run.parameters[name])]
            record.lost.constant = bool((found[name] == found[name][0]).all())
        for name in (self._changed & set(found)) - held:
            lost = self._run.trace.wiring.parameters[name].lost
            if lost is not None and lost.put_back:
                lost.put_back = 0
        self._before.update(found)
        self._changed -= set(found)

    @unseen
    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._updates.get(self._run.add_optimizer(optimizer), 0) > _UPDATES or has_closure:
            return
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for name, values in self._before.items():
            parameter = self._run.parameters[name]
            if id(parameter) in held and not torch.equal(some_values(parameter), values):
                self._changed.add(name)

    def run_ends(self) -> None:
        self._before.clear()


def some_values(parameter: Tensor) -> Tensor:
    values = parameter.detach().reshape(-1)
    return values[:: max(1, len(values) // VALUES)].clone()
