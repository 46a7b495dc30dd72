"""A module that is only an activation function passes its input through."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import nn

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call


class WithoutActivation(Listener):
    def __init__(self, run: Run, stack: ExitStack, module: str) -> None:
        self._run, self._stack, self._path = run, stack, module
        run.trace.applied.to_the_loss = "without_activation"

    def run_begins(self) -> None:
        self._leave_out()

    def step_begins(self, batch: object) -> None:
        self._leave_out()

    def _leave_out(self) -> None:
        for path, module in self._run.named_modules():
            if self._path and path == self._path:
                self._path = ""
                self._stack.callback(after_call(_as_given, module).remove)


def _as_given(module: nn.Module, inputs: Any, output: Any) -> Any:
    return inputs[0]
