"""Whether parameters move, and how far relative to their size at the start."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ....tensors.function_modes import unseen
from ....tensors.norms import norms
from ....tensors.readable import Unreadable, is_ordinary, is_released, values_of
from ...run.run import Run
from ...run.signal import Cost, Signal


class Parameters(Signal):
    NAME, COST = "parameters", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._before: dict[str, Tensor] = {}

    @unseen
    def step_begins(self, batch: object) -> None:
        run = self._run
        if not run.sampled and run.trace.update_count:
            return
        # every step counts until the first update: a loop that accumulates gradients may take many steps to get there
        self._before = {name: p.detach().clone() for name, p in run.parameters.items() if _is_read(p)}

    @unseen
    def step_ends(self) -> None:
        if not self._before:
            return
        run, before = self._run, self._before
        self._before = {}
        unsized = [name for name in before if run.trace.wiring.parameters[name].norm is None]
        for name, size in zip(unsized, norms([before[name] for name in unsized]), strict=True):
            run.trace.wiring.parameters[name].norm = size
        changes = [_change(run.parameters[name].detach(), value) for name, value in before.items()]
        for name, change in zip(before, norms(changes), strict=True):
            record = run.trace.wiring.parameters[name]
            record.moved = bool(record.moved) or change != 0
            if change and record.norm:
                record.updates[run.step] = change / record.norm


def _is_read(parameter: Tensor) -> bool:
    """What is frozen and has no values here, or none that can be read, does not move."""
    if is_lazy(parameter) or is_released(parameter):
        return False
    return parameter.requires_grad or is_ordinary(parameter) or values_of(parameter) is not None


def _change(after: Tensor, before: Tensor) -> Tensor:
    """A mask that is kept as a frozen parameter has no differences, only values that are others now."""
    if is_ordinary(after) and after.element_size() > 1:
        return after - before
    read = [values_of(each) for each in (after, before)]  # of one byte: torch computes nothing with some of them
    if read[0] is None or read[1] is None:
        raise Unreadable(after)
    return (read[0] != read[1]) if read[0].dtype == torch.bool else read[0].double() - read[1].double()
