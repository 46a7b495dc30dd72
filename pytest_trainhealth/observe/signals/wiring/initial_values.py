"""The scale of each parameter at the start, and whether the units of a weight differ, at the start and at the end."""

from __future__ import annotations

import torch
from torch.nn.parameter import is_lazy

from ...run.run import Run
from ...run.signal import Cost, Signal


class InitialValues(Signal):
    NAME, COST = "initial_values", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run

    def step_begins(self, batch: object) -> None:
        if self._run.sampled:
            self._note(self._run.step)

    def run_ends(self) -> None:
        self._note(self._run.step)

    def _note(self, step: int) -> None:
        for name, parameter in self._run.parameters.items():
            record = self._run.trace.wiring.parameters[name]
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
