"""Changes what models are given where they are called: a batch does not say what its parts are for."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from ..observe.run.events import Listener
from ..observe.run.run import Run
from ..observe.source.module_calls import after_call, before_call


class AtTheCalls(Listener):
    """Base of such interventions: `given` gets the arguments of each outermost call, and returns others.

    One model inside another gets what the outer one has computed from changed ones.
    """

    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        self._known: set[int] = set()
        self._depth = 0

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        self._depth = 0  # a forward pass that raised did not decrease it
        for model in self._run.models.values():
            # scripted modules do not support such hooks
            if id(model) not in self._known and not isinstance(model, torch.jit.ScriptModule):
                self._known.add(id(model))
                self._stack.callback(before_call(self._before, model, with_kwargs=True).remove)
                self._stack.callback(after_call(self._after, model, always_call=True).remove)

    def given(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        raise NotImplementedError

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        self._depth += 1
        return (args, kwargs) if self._depth > 1 else self.given(module, args, kwargs)

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        self._depth -= 1
