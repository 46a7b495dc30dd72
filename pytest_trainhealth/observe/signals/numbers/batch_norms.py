"""From how many values per channel each BatchNorm in training mode computes its statistics."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import Watching


class BatchNorms(Signal):
    """Active at every step, because it is the last and smallest batch of an epoch that does the harm."""

    NAME, COST = "batch_norms", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._hooked: dict[int, Watching] = {}
        self._models = 0

    def step_begins(self, batch: object) -> None:
        run = self._run
        if len(run.models) == self._models:
            return
        self._models = len(run.models)
        for path, module in run.named_modules():
            if isinstance(module, _BatchNorm) and id(module) not in self._hooked:
                self._hooked[id(module)] = self._before_call(self._counts(path), module)

    def run_ends(self) -> None:
        for handle in self._hooked.values():
            handle.remove()

    def _counts(self, path: str) -> Any:
        known, most = self._run.trace.numbers.values_per_channel, self._run.trace.numbers.most_values_per_channel

        def count(module: nn.Module, inputs: tuple[Any, ...]) -> None:
            values = inputs[0] if inputs else None
            if isinstance(values, Tensor) and values.ndim >= 2 and (module.training or module.running_mean is None):
                each = values.numel() // max(values.shape[1], 1)
                known[path], most[path] = min(each, known.get(path, each)), max(each, most.get(path, each))

        return count
