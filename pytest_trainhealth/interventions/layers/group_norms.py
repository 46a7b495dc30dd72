"""BatchNorms normalise each sample by itself, as a GroupNorm of one group does, with the weights that they have."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call


class GroupNorms(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        self._known: set[int] = set()

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for _, module in self._run.named_modules():
            if isinstance(module, _BatchNorm) and id(module) not in self._known:
                self._known.add(id(module))
                self._stack.callback(after_call(_by_sample, module).remove)

    def run_ends(self) -> None:
        if not self._known:
            self._run.trace.applied.without_effect.append("group_norms")


def _by_sample(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    assert isinstance(module, _BatchNorm)
    given = inputs[0]
    if not isinstance(given, Tensor) or not module.training:
        return output
    return F.group_norm(given, 1, module.weight, module.bias, module.eps)
