"""The step runs under autocast."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run


class Autocast(Listener):
    def __init__(self, run: Run, stack: ExitStack, dtype: str) -> None:
        self._run, self._dtype = run, getattr(torch, dtype)
        self._open = stack.enter_context(ExitStack())

    def step_begins(self, batch: object) -> None:
        self._open.close()  # of a step that raised
        parameter = next((p for model in self._run.models.values() for p in model.parameters()), None)
        device = "cpu" if parameter is None else parameter.device.type
        self._open.enter_context(torch.autocast(device, self._dtype))

    def step_ends(self) -> None:
        self._open.close()
