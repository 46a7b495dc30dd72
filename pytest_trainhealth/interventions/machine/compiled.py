"""The models are compiled in place, as `model.compile()` does, and are as before afterwards."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ...observe.run.events import Listener
from ...observe.run.run import Run

#: What is compiled is the change: the run is not to be taken back to code that is not (programs/uncompiled.py).
COMPILES = True


class Compiled(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack

    def run_begins(self) -> None:
        for each in self._run.models.values():
            model: Any = each
            self._stack.callback(setattr, model, "_compiled_call_impl", model._compiled_call_impl)
            model.compile()
