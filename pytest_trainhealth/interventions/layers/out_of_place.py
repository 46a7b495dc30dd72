"""Activations that overwrite their input (`inplace=True`) leave it as it is."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.run.events import Listener
from ...observe.run.run import Run


class OutOfPlace(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for _, module in self._run.named_modules():
            if getattr(module, "inplace", False) is True:
                module.inplace = False  # type: ignore[assignment]
                self._stack.callback(setattr, module, "inplace", True)
