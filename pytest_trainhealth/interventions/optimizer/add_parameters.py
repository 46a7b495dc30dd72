"""Adds parameters to an optimizer, the first one or the one `to` names; frozen ones are unfrozen first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from torch import Tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class AddParameters(Listener):
    """In a watched test the optimizer may be first seen when it steps; then its first update happens without them."""

    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str], to: str = "") -> None:
        self._run, self._names, self._to = run, set(names), to

    def run_begins(self) -> None:
        self._add()

    def step_begins(self, batch: object) -> None:
        if self._names:
            self._add()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._names:
            self._run.add_optimizer(optimizer)
            self._add()

    def _add(self) -> None:
        run = self._run
        known = [name for name in run.parameters if name in self._names]
        for name in known:
            run.parameters[name].requires_grad_(True)
            run.trace.wiring.parameters[name].trainable = True
        if not known or not run.optimizers:
            return
        self._names -= set(known)
        missing = [run.parameters[name] for name in known if not run.held_by(run.parameters[name])]
        if missing:
            _add_to(run.optimizers.get(self._to) or next(iter(run.optimizers.values())), missing)
            run.rematch()


def _add_to(optimizer: Optimizer, missing: list[Tensor]) -> None:
    """A scheduler has a rate for each group that was there when it was made, and raises if there is one more."""
    scheduled = [group for group in optimizer.param_groups if "initial_lr" in group]
    if not scheduled or "param_names" in scheduled[0]:
        optimizer.add_param_group({"params": missing})
    else:
        scheduled[0]["params"] += missing
