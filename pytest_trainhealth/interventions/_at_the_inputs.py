"""Changes the inputs of models where they are called: a batch does not say which of its tensors are targets."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ..observe.run.events import Listener
from ..observe.run.run import Run
from ..observe.source.module_calls import after_call, before_call
from ..tensors.batches import is_input_name, map_tensors


class AtTheInputs(Listener):
    """Base of such conditions: `changed` is called for each floating-point input of the outermost model."""

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

    def changed(self, tensor: Tensor) -> Tensor:
        raise NotImplementedError

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        self._depth += 1
        if self._depth > 1:
            return args, kwargs  # one model inside another: its inputs were computed from changed ones
        given = {k: map_tensors(self._change, v) if is_input_name(k) else v for k, v in kwargs.items()}
        return map_tensors(self._change, args), given

    def _after(self, module: nn.Module, args: Any, output: Any) -> None:
        self._depth -= 1

    def _change(self, name: str, tensor: Tensor) -> Tensor:
        # a tensor with a graph was made by another model, not read from the data
        if not tensor.is_floating_point() or not tensor.ndim or tensor.grad_fn is not None or not is_input_name(name):
            return tensor
        return self.changed(tensor)
