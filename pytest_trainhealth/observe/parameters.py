"""Whether parameters move, and how far in relation to their size."""

from __future__ import annotations

from torch import Tensor
from torch.nn.parameter import is_lazy

from .norms import norms
from .run import Run


class Parameters:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: dict[str, Tensor] = {}

    def step_begins(self, batch: object) -> None:
        run = self._run
        if not run.sampled and run.trace.update_count:
            return
        # until the first update every step counts: an accumulating loop may take many calls to get there
        self._before = {name: p.detach().clone() for name, p in run.parameters.items() if not is_lazy(p)}

    def step_ends(self) -> None:
        if not self._before:
            return
        run, before = self._run, self._before
        self._before = {}
        names = list(before)
        changes = [run.parameters[name].detach() - before[name] for name in names]
        for name, change, size in zip(names, norms(changes), norms(list(before.values())), strict=True):
            record = run.trace.parameters[name]
            record.moved = bool(record.moved) or change != 0
            if record.norm is None:
                record.norm = size
            if change and size:
                record.updates[run.step] = change / size
