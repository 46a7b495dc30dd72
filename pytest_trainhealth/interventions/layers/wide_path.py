"""A wide path beside a narrow one: from the inputs of one layer to the outputs of the same or a later one.

Its last layer starts at 0, so that the first loss is the same as without it, and it learns with the optimizer of the
narrow layer. It is built when the first forward pass shows what goes in and what comes out.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call, before_call

#: Units. By judgement: many times those of any layer that is called narrow.
_WIDTH = 64


class WidePath(Listener):
    """`start`, `end`: paths of modules. `weight`: the parameter whose optimizer teaches the new path."""

    def __init__(self, run: Run, stack: ExitStack, start: str, end: str, weight: str) -> None:
        self._run, self._stack = run, stack
        self._start, self._end, self._weight = start, end, weight
        self._path: nn.Module | None = None
        self._given: Tensor | None = None
        self._hooked = self._learns = False

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        start, end = self._module(self._start), self._module(self._end)
        if self._hooked or start is None or end is None:
            return
        self._hooked = True
        self._stack.callback(before_call(self._note, start).remove)
        self._stack.callback(after_call(self._add, end).remove)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Added to the layer's own group: schedulers expect the number of groups that they started with."""
        if self._path is None or self._learns:
            return
        weight = self._run.parameters.get(self._weight)
        for each in self._run.optimizers.values():
            for group in each.param_groups:
                if any(p is weight for p in group["params"]):
                    group["params"].extend(self._path.parameters())
                    self._learns = True
                    return

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._path is not None:
            self._path.zero_grad()  # `model.zero_grad()` does not include it

    def run_ends(self) -> None:
        if not self._learns:
            self._run.trace.applied.without_effect.append("wide_path")

    def _module(self, path: str) -> Any:
        return next((module for known, module in self._run.named_modules() if known == path), None)

    def _note(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        given = inputs[0] if inputs and isinstance(inputs[0], Tensor) else None
        self._given = given if given is not None and given.is_floating_point() else None

    def _add(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        given, self._given = self._given, None
        if given is None or not isinstance(output, Tensor) or not torch.is_grad_enabled():
            return output
        if self._path is None:
            self._path = _path(self._module(self._start), given, output)
        more = self._path(given)
        if more.ndim == output.ndim + 1:  # a sequence of which the last step is used
            more = more[:, -1]
        return output + more if more.shape == output.shape else output


class _Recurrent(nn.Module):
    def __init__(self, inputs: int, outputs: int, batch_first: bool) -> None:
        super().__init__()
        self.steps = nn.GRU(inputs, _WIDTH, batch_first=batch_first)
        self.head = nn.Linear(_WIDTH, outputs)
        self._batch_first = batch_first

    def forward(self, given: Tensor) -> Tensor:
        found: Tensor = self.head(self.steps(given)[0])
        return found if self._batch_first else found.transpose(0, 1)


def _path(start: nn.Module, given: Tensor, output: Tensor) -> nn.Module:
    inputs, outputs = given.shape[-1], output.shape[-1]
    path: nn.Module
    if isinstance(start, nn.RNNBase):
        path = _Recurrent(inputs, outputs, start.batch_first)
        last = path.head
    else:
        last = nn.Linear(_WIDTH, outputs)
        path = nn.Sequential(nn.Linear(inputs, _WIDTH), nn.ReLU(), last)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return path.to(device=given.device, dtype=given.dtype)
