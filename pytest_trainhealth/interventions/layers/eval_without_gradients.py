"""BatchNorm and dropout layers that run without gradients run in eval mode; the former keep their statistics."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call, before_call


class EvalWithoutGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        self._met: set[int] = set()

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for _, module in self._run.named_modules():
            if isinstance(module, (_BatchNorm, _DropoutNd)) and id(module) not in self._met:
                self._met.add(id(module))
                self._stack.callback(before_call(_begins, module).remove)
                self._stack.callback(after_call(_ends, module, always_call=True).remove)


def _begins(module: nn.Module, inputs: Any) -> None:
    if module.training and not torch.is_grad_enabled():
        module.training = False
        module.__dict__["_back_to_training"] = True


def _ends(module: nn.Module, inputs: Any, output: Any) -> None:
    if module.__dict__.pop("_back_to_training", False):
        module.training = True
