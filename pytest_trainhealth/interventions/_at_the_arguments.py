"""Changes what models are called with, by the names of forward()'s parameters: labels and masks beside tokens."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from ..observe.run.events import Listener
from ..observe.run.run import Run
from ..observe.source.module_calls import after_call, before_call


class AtTheArguments(Listener):
    """Base of such cures: `changed` gets the arguments of each outermost call by name, and may put others in."""

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
                before = before_call(self._before, model, with_kwargs=True)
                after = after_call(self._after, model, always_call=True)
                self._stack.callback(before.remove)
                self._stack.callback(after.remove)

    def changed(self, module: nn.Module, given: dict[str, Any]) -> None:
        raise NotImplementedError

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        self._depth += 1
        if self._depth > 1:
            return args, kwargs  # one model inside another gets what the outer one was given
        signature = inspect.signature(module.forward)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # the call itself will say what is wrong with it
            return args, kwargs
        given = dict(bound.arguments)
        self.changed(module, given)
        ordered = {name: given[name] for name in signature.parameters if name in given}
        bound = inspect.BoundArguments(signature, ordered)
        return bound.args, bound.kwargs

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        self._depth -= 1
