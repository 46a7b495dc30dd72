"""A second path around a bottleneck: from the inputs of one layer to the outputs of the same or a later one.

It starts at 0, so that the first loss is the same as without it, and learns with the optimizer of the layer.
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


class Bypass(Listener):
    """`kernel`: how many positions in each direction it sees; 1 for a linear layer."""

    def __init__(self, run: Run, stack: ExitStack, start: str, end: str, kernel: int = 1) -> None:
        self._run, self._stack = run, stack
        self._start, self._end, self._kernel = start, end, kernel
        self._way: nn.Module | None = None
        self._weight: Tensor | None = None
        self._given: Tensor | None = None
        self._learns = False

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        if self._way is None:
            self._build()
        self._hand_over()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._hand_over()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._way is not None:
            self._way.zero_grad()  # `model.zero_grad()` does not include it

    def _build(self) -> None:
        start, end = self._module(self._start), self._module(self._end)
        if start is None or end is None:
            return
        like = start.weight
        assert isinstance(like, Tensor)
        given, made = start.weight.shape[1], end.weight.shape[0]
        way: nn.Module
        if isinstance(start, nn.Linear):
            way = nn.Linear(int(given), int(made), bias=False)
        else:
            assert isinstance(start, nn.Conv2d)
            way = nn.Conv2d(int(given), int(made), self._kernel, padding=self._kernel // 2, bias=False)
        self._way, self._weight = way.to(device=like.device, dtype=like.dtype), like
        nn.init.zeros_(next(self._way.parameters()))
        before = before_call(self._note, start)
        after = after_call(self._add, end)
        self._stack.callback(before.remove)
        self._stack.callback(after.remove)

    def _hand_over(self) -> None:
        """Adds it to the layer's parameter group: schedulers expect the number of groups that they started with."""
        if self._way is None or self._learns:
            return
        for optimizer in self._run.optimizers.values():
            for group in optimizer.param_groups:
                if any(p is self._weight for p in group["params"]):
                    group["params"].extend(self._way.parameters())
                    self._learns = True
                    return

    def _module(self, path: str) -> Any:
        return next((module for known, module in self._run.named_modules() if known == path), None)

    def _note(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        self._given = inputs[0] if inputs and isinstance(inputs[0], Tensor) else None

    def _add(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        given, self._given = self._given, None
        if given is None or self._way is None or not torch.is_grad_enabled():
            return output
        return output + self._way(given)
