"""Whether parameters move, and how far in relation to their size at the start; and how they start."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from ....tensors.norms import norms
from ...run.run import Run

#: At which moves are looked for in any case: those of gradients_flow, 4.
_STEPS = 4


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
        unsized = [name for name in before if run.trace.parameters[name].norm is None]
        for name, size in zip(unsized, norms([before[name] for name in unsized]), strict=True):
            run.trace.parameters[name].norm = size
        changes = [run.parameters[name].detach() - value for name, value in before.items()]
        for name, change in zip(before, norms(changes), strict=True):
            record = run.trace.parameters[name]
            record.moved = bool(record.moved) or change != 0
            if change and record.norm:
                record.updates[run.step] = change / record.norm


class Movement(Parameters):
    """Only whether they move: once all that are to learn have moved, nothing is left to see."""

    def step_begins(self, batch: object) -> None:
        if self._run.step < _STEPS or not all(p.moved for p in self._run.trace.trainable):
            super().step_begins(batch)


class InitialValues:
    """The scale of each parameter at the start, and whether the units of a weight are told apart, then and later."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def step_begins(self, batch: object) -> None:
        if self._run.sampled:
            self._note(self._run.step)

    def run_ends(self) -> None:
        self._note(self._run.step)

    def _note(self, step: int) -> None:
        for name, parameter in self._run.parameters.items():
            record = self._run.trace.parameters[name]
            if is_lazy(parameter) or parameter.layout != torch.strided or not parameter.is_floating_point():
                continue
            with torch.no_grad():
                values = parameter.detach().float()
                if record.std is None and values.numel():
                    record.std = float(values.std(correction=0))
                    record.mean = float(values.mean())
                if values.ndim > 1 and values.shape[0] > 1:
                    size = float(values.square().mean().sqrt())
                    apart = float((values - values.mean(0)).square().mean().sqrt())
                    record.unit_spread[step] = apart / size if size else 0.0
