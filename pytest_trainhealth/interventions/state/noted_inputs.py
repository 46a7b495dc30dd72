"""Notes what the models are called with, step by step: the same run with and without learning is then compared.

Only the first input of each call from outside, which is what the loop has got from somewhere: not what a model has made
in this step (a critic looks at what a generator made), and not a state that is handed on as a second argument.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call, before_call
from ...tensors.batches import tensors
from ...tensors.fingerprint import fingerprint
from ..optimizer.learning_rate import LearningRate

#: Most calls of a step that are noted. By judgement: an episode of 256 moves differs before its end, if it does at all.
_MOST = 256


class NotedInputs(Listener):
    def __init__(self, run: Run, stack: ExitStack, learning: bool) -> None:
        self._run = run
        self._rate = None if learning else LearningRate(run, stack, 0.0)
        self._depth = 0
        self._now: list[str] = []
        #: What models have returned since the last update.
        self._made: list[Tensor] = []
        before, after = before_call(self._called), after_call(self._returned, always_call=True)
        stack.callback(before.remove)
        stack.callback(after.remove)

    def _called(self, module: nn.Module, args: Any) -> None:
        self._depth += 1
        if self._depth > 1 or len(self._now) >= _MOST:
            return
        given = next((t for _, t in tensors(args)), None)
        if given is None or given.requires_grad or is_functorch_wrapped_tensor(given):
            return
        if any(given.data_ptr() == each.data_ptr() for each in self._made if each.layout is torch.strided):
            return
        found = fingerprint(given)
        if found not in self._now[-1:]:  # a line search calls with the same again and again, and not equally often
            self._now.append(found)

    def _returned(self, module: nn.Module, args: Any, result: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if not self._depth and len(self._made) < _MOST:
            self._made += [t.detach() for _, t in tensors(result) if not is_functorch_wrapped_tensor(t)]

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._rate is not None:
            self._rate.update_begins(optimizer, has_closure)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._rate is not None:
            self._rate.update_ends(optimizer, has_closure)
        self._run.trace.applied.inputs.append(tuple(self._now))
        self._now, self._made = [], []
