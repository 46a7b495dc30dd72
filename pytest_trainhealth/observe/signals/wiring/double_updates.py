"""Whether one gradient is used for more than one update of a parameter."""

from __future__ import annotations

from torch import Tensor
from torch.optim import Optimizer

from ....records.wiring import DoubleUpdate
from ....tensors.norms import norms
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import package_of

#: Steps that are examined: enough to see a double update several times. By judgement: 8, as it happens at each step or
#: at none.
_STEPS = 8


class DoubleUpdates(Signal):
    NAME, COST = "double_updates", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._depth = 0
        self._pass = 0
        #: By parameter: the backward pass whose gradient was used last, and the optimizer that used it.
        self._used: dict[str, tuple[int, str]] = {}
        self._before: dict[str, Tensor] = {}

    def backward_begins(self, roots: object) -> None:
        self._pass += 1

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._depth += 1  # a Lookahead or SAM calls the optimizer that it wraps from inside its own step
        self._before.clear()
        # a user-written optimizer may do anything with its parameters: a projection, a penalty
        if self._depth > 1 or has_closure or self._run.step >= _STEPS or package_of(type(optimizer)) == "user":
            return
        run, label = self._run, self._run.add_optimizer(optimizer)
        for name, record in run.trace.wiring.parameters.items():
            if len(record.held_by) > 1 and label in record.held_by:
                parameter = run.parameters[name]
                if parameter.grad is not None and any(norms([parameter.grad])):
                    self._before[name] = parameter.detach().clone()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth or not self._before:
            return
        run, label = self._run, self._run.add_optimizer(optimizer)
        moved = [name for name, value in self._before.items() if not bool((run.parameters[name] == value).all())]
        self._before.clear()
        for name in moved:
            used, by = self._used.get(name, (-1, ""))
            if run.trace.wiring.parameters[name].held_by.count(label) > 1:
                self._note(name, label, label)
            elif used == self._pass and by != label:
                self._note(name, by, label)
            self._used[name] = (self._pass, label)

    def _note(self, name: str, first: str, second: str) -> None:
        found = self._run.trace.wiring.double_updates
        record = found.setdefault(name, DoubleUpdate(name, (first, second)))
        if self._run.step not in record.steps:
            record.steps.append(self._run.step)
