"""BatchNorms normalise by their running statistics, as in eval mode, which go on following the batches.

The batches, their order and the steps stay the same: what is better then was spoilt by the statistics of single batches
alone, and not by how few samples a step sees.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import after_call


class RunningStatistics(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        self._known: set[int] = set()

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for _, module in self._run.named_modules():
            if isinstance(module, _BatchNorm) and module.track_running_stats and id(module) not in self._known:
                self._known.add(id(module))
                self._stack.callback(after_call(_by_many, module).remove)

    def run_ends(self) -> None:
        if not self._known:
            self._run.trace.applied.without_effect.append("running_statistics")


def _by_many(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    assert isinstance(module, _BatchNorm)
    given, mean, variance = inputs[0], module.running_mean, module.running_var
    if not isinstance(given, Tensor) or not module.training or mean is None or variance is None:
        return output
    # copies: the layer goes on writing into its own before the backward pass
    return F.batch_norm(given, mean.clone(), variance.clone(), module.weight, module.bias, False, 0.0, module.eps)
